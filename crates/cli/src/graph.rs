//! `shoal graph`.

use shoal::{Error, Loaded, ModelGraph, Watch, model::Model};
use shoal_report::{
    LabelledGraph, instance_name, plural, render_node, write_aut, write_dot, write_graphml, write_svg,
};

use crate::{
    args::{GraphArgs, GraphFormat, LimitArgs},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    output::{self, Console, write_to},
    progress::listen,
};

pub(crate) fn run(console: &Console, args: &GraphArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let loaded = crate::source::load(&args.file, &args.model.load_options(&watch))?;
    let symmetric = if args.quotient { shoal::graph_symmetry(&loaded) } else { Vec::new() };
    let graph = shoal::graph(&loaded, &symmetric, args.limit as usize, &watch)?;
    if args.quotient && graph.symmetric.is_empty() {
        output::complain(format_args!("--quotient: {}", why_whole(&loaded)));
    }
    // What is cut off by a limit of states is asked for; by one of time or memory, there would be none left to write it.
    let labelled = label(&loaded.model, &graph, args.format != GraphFormat::Aut, &watch)?;
    let kind = match args.format {
        GraphFormat::Dot => FileKind::Dot,
        GraphFormat::Aut => FileKind::Aut,
        GraphFormat::Svg => FileKind::Svg,
        GraphFormat::Graphml => FileKind::Graphml,
    };
    write_to(console, args.output.as_deref(), kind, |out| match args.format {
        GraphFormat::Dot => write_dot(out, &labelled),
        GraphFormat::Aut => write_aut(out, &labelled),
        GraphFormat::Svg => write_svg(out, &labelled),
        GraphFormat::Graphml => write_graphml(out, &labelled),
    })?;
    if graph.complete {
        return Ok(ExitKind::Good);
    }
    let count = plural(graph.nodes.len() as u64, "state", "states");
    output::complain(format_args!("the graph is cut off at {count}: there are more (--limit N)"));
    Ok(ExitKind::Inconclusive)
}

/// Why a graph is not reduced.
fn why_whole(loaded: &Loaded) -> String {
    let names: Vec<&str> = loaded.model.sorts.iter().map(|sort| sort.name.as_str()).collect();
    match names.is_empty() {
        true => "nothing is reduced, as the model has no symmetric sorts".into(),
        false => {
            format!(
                "nothing is reduced, as it is not proved that {} is symmetric (shoal explain)",
                names.join(", ")
            )
        }
    }
}

/// Names for the steps, and contents for the states where they are shown.
fn label(model: &Model, graph: &ModelGraph, contents: bool, watch: &Watch) -> Result<LabelledGraph, Error> {
    watch.check().map_err(Error::Stopped)?;
    let mut ticker = watch.ticker();
    let mut tick = || ticker.tick().map_err(Error::Stopped);
    let mut labelled = LabelledGraph {
        name: model.name.clone(),
        nodes: Vec::new(),
        starts: graph.initial.clone(),
        edges: Vec::new(),
    };
    for (number, state) in graph.nodes.iter().enumerate() {
        tick()?;
        let text =
            if contents { render_node(model, state, graph.zone(number)).join("\n") } else { String::new() };
        labelled.nodes.push(text);
    }
    for edge in &graph.edges {
        tick()?;
        labelled.edges.push((edge.from, instance_name(model, edge.rule, &edge.args), edge.to));
    }
    Ok(labelled)
}
