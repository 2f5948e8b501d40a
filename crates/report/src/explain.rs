//! What Shoal sees in a model, as text.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use shoal::{Loaded, Plan, Watch};
use shoal_model::{Model, PropertyId, SortId, SortSize, Type, TypeId};
use shoal_syntax::{SourceMap, Span};

use crate::{Palette, one_line, plural};

/// What is known of a model before it is checked.
#[derive(Clone, Debug)]
pub struct ExplainView<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The model.
    pub model: &'a Model,
    /// Its sources.
    pub sources: &'a SourceMap,
    /// What is known of each sort.
    pub sorts: Vec<SortView>,
    /// The local states of the elements of symmetric sorts.
    pub locals: Vec<LocalView>,
    /// Variables beside the elements that do not take all of their values, and which they take.
    pub plain: Vec<(String, String)>,
    /// When the variables of the elements of sorts can still be read.
    pub active: Vec<ActiveView>,
    /// Ranges that could be sorts.
    pub hints: Vec<HintView>,
    /// How elements are looked at where there are any number of them.
    pub views: Option<ViewsView>,
    /// The plan in one line.
    pub plan: &'a str,
}

/// How elements are looked at where there are any number of them.
#[derive(Clone, Debug)]
pub struct ViewsView {
    /// The views that prove something.
    pub proofs: Vec<ProofView>,
    /// What they do not prove, and what is known of it.
    pub open: Vec<(PropertyId, String)>,
}

/// Views that prove something.
#[derive(Clone, Debug)]
pub struct ProofView {
    /// How much they show.
    pub words: String,
    /// What they prove.
    pub properties: Vec<PropertyId>,
    /// What they say about elements that they do not show.
    pub bits: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// Some of them: what belongs to no element, and what belongs to elements.
    pub views: Vec<(String, String)>,
}

/// What is known of a sort.
#[derive(Clone, Debug)]
pub struct SortView {
    /// The sort.
    pub sort: SortId,
    /// Elements that the source names, which stay put.
    pub pinned: Vec<u32>,
    /// What breaks it, or may; nothing if it is proved symmetric.
    pub breaks: Vec<BreakView>,
    /// Whether a search checks in every state what is not proved.
    pub checked: bool,
}

/// The local states of the elements of a sort.
#[derive(Clone, Debug)]
pub struct LocalView {
    /// The sort.
    pub sort: SortId,
    /// The variable that acts as a program counter.
    pub control: Option<String>,
    /// For each of its values, the other variables that are live there, and how many local states are kept and dropped.
    pub points: Vec<(String, Vec<String>, String)>,
    /// Variables that do not take all of their values.
    pub ranges: Vec<(String, String)>,
    /// How many local states there are, in a sentence.
    pub count: String,
}

/// The variables of the elements of a sort that are not always active.
#[derive(Clone, Debug)]
pub struct ActiveView {
    /// The type of the elements.
    pub index: TypeId,
    /// The variables, each with the condition under which it is active; `P` is the element itself.
    pub shown: Vec<(String, String)>,
}

/// A use that breaks a sort.
#[derive(Clone, Debug)]
pub struct BreakView {
    /// Where it stands.
    pub span: Span,
    /// Why it breaks the sort.
    pub reason: String,
}

/// A range of integers that could be a scalarset.
#[derive(Clone, Debug)]
pub struct HintView {
    /// Its name.
    pub name: String,
    /// Others that would have to become the same scalarset.
    pub with: Vec<String>,
    /// Where it is first used.
    pub span: Span,
}

/// So long local states are looked for where nobody asks for what takes longer.
const SOON: Duration = Duration::from_millis(250);

impl<'a> ExplainView<'a> {
    /// All that is known of a model, under the name that the user has for it. When variables are active is found out only if that
    /// is asked, and only then local states are looked for as long as the watch allows: both may take long.
    pub fn of(
        file: &'a str,
        loaded: &'a Loaded,
        plan: &'a Plan,
        wants_active: bool,
        watch: &Watch,
    ) -> ExplainView<'a> {
        let soon = watch.within(SOON);
        let known = shoal::local_states(loaded, if wants_active { watch } else { &soon });
        ExplainView {
            file,
            model: &loaded.model,
            sources: &loaded.sources,
            sorts: sorts(loaded, plan),
            locals: locals(known.sorts),
            plain: known.plain,
            active: if wants_active { active(loaded) } else { Vec::new() },
            hints: hints(loaded),
            views: shoal::abstracted(loaded, watch).map(views),
            plan: &plan.reason,
        }
    }
}

fn views(known: shoal::Abstracted) -> ViewsView {
    let text = |view: &shoal::ViewInWords| (view.shared.join(", "), view.own.join(", "));
    let proof = |proof: shoal::AbstractedProof| ProofView {
        views: proof.views.iter().map(text).collect(),
        words: proof.words,
        properties: proof.properties,
        bits: proof.bits,
        count: proof.count,
    };
    let decided = known.decided.into_iter().map(|(property, number)| {
        (property, format!("the instance with {number} decides it: `shoal check` shows how"))
    });
    ViewsView {
        proofs: known.proofs.into_iter().map(proof).collect(),
        open: known.open.into_iter().chain(decided).collect(),
    }
}

fn sorts(loaded: &Loaded, plan: &Plan) -> Vec<SortView> {
    let symmetry = shoal::symmetry_of_steps(&loaded.model);
    let view = |(sort, known): (SortId, &shoal::SortSymmetry)| SortView {
        sort,
        pinned: known.pinned.iter().copied().collect(),
        breaks: known
            .breaks
            .iter()
            .map(|found| BreakView { span: found.span, reason: found.reason.clone() })
            .collect(),
        checked: plan.checked.contains(&sort),
    };
    symmetry.sorts.enumerate().map(view).collect()
}

fn locals(known: Vec<shoal::LocalStates>) -> Vec<LocalView> {
    let count = |known: &shoal::LocalStates| {
        let live = known.live.map_or(String::new(), |live| format!(", {live} with live variables only"));
        let kept = match &known.kept {
            Ok(kept) => format!(", {kept} that an element may reach: these are counted"),
            Err(why) => format!("; not counted: {why}"),
        };
        format!("{} conceivable{live}{kept}", known.conceivable)
    };
    let view = |known: shoal::LocalStates| LocalView {
        sort: known.sort,
        count: count(&known),
        control: known.control,
        points: known.points.iter().map(|it| (it.at.clone(), it.live.clone(), kept(it))).collect(),
        ranges: known.ranges,
    };
    known.into_iter().map(view).collect()
}

/// How many of the local states at a control point are kept, and why the others are not.
fn kept(point: &shoal::ControlPoint) -> String {
    let Some(kept) = point.kept else { return String::new() };
    if kept == 0 {
        return "; no element comes here".into();
    }
    let dead = point.conceivable - point.telling;
    let missed = point.telling.saturating_sub(kept as u128);
    let mut dropped = Vec::new();
    if dead > 0 {
        dropped.push(format!("{dead} differ only in what is not live"));
    }
    if missed > 0 {
        dropped.push(format!("{missed} no element reaches"));
    }
    let dropped = if dropped.is_empty() { String::new() } else { format!(": {}", dropped.join(", ")) };
    let ranges: String = point.ranges.iter().map(|(var, values)| format!("; {var} {values}")).collect();
    format!("; {kept} of {} kept{dropped}{ranges}", point.conceivable)
}

/// For each sort with variables that are not always active, their conditions.
fn active(loaded: &Loaded) -> Vec<ActiveView> {
    let conditions = shoal::active_conditions(&loaded.model);
    let view = |known: shoal::Activity| ActiveView { index: known.index, shown: known.shown(&loaded.model) };
    conditions.into_iter().map(view).collect()
}

fn hints(loaded: &Loaded) -> Vec<HintView> {
    let hints = shoal::scalarset_hints(&loaded.model);
    let name = |ty| loaded.model.show_type(ty).to_string();
    hints
        .into_iter()
        .map(|hint| HintView {
            name: hint.name,
            with: hint.with.into_iter().map(name).collect(),
            span: hint.span,
        })
        .collect()
}

/// Writes all of it.
pub fn write_explain(out: &mut dyn Write, view: &ExplainView<'_>, palette: Palette) -> io::Result<()> {
    let model = view.model;
    writeln!(out, "{}", palette.strong(format!("{}: model {}", view.file, model.name)))?;
    write_sorts(out, view, palette)?;
    write_locals(out, view, palette)?;
    write_active(out, view, palette)?;
    write_vars(out, model, palette)?;
    write_code(out, view, palette)?;
    if let Some(views) = &view.views {
        write_views(out, view.model, views, palette)?;
    }
    writeln!(out, "\n{}\n  {}", palette.strong("plan"), view.plan)
}

/// So many groups of views are shown, and so many views of each.
const MOST_GROUPS: usize = 12;
const MOST_OF_GROUP: usize = 6;

fn write_views(out: &mut dyn Write, model: &Model, views: &ViewsView, palette: Palette) -> io::Result<()> {
    writeln!(out, "\n{}", palette.strong("any number of elements"))?;
    for proof in &views.proofs {
        writeln!(out, "  {}: {}", proof.words, plural(proof.count as u64, "view", "views"))?;
        for property in &proof.properties {
            writeln!(out, "    {} {}", palette.good("proves"), model.properties[*property].title())?;
        }
        for bit in &proof.bits {
            writeln!(out, "    each says whether another element has {bit}")?;
        }
        write_groups(out, proof, palette)?;
    }
    for (property, known) in &views.open {
        writeln!(out, "  {} {}", palette.doubt("not proved:"), model.properties[*property].title())?;
        writeln!(out, "    {known}")?;
    }
    Ok(())
}

/// Views that differ only in what belongs to elements stand together.
fn write_groups(out: &mut dyn Write, proof: &ProofView, palette: Palette) -> io::Result<()> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (shared, own) in &proof.views {
        groups.entry(shared).or_default().push(own);
    }
    for (shared, views) in groups.iter().take(MOST_GROUPS) {
        let shared = if shared.is_empty() { "nothing is set" } else { shared };
        let count = plural(views.len() as u64, "view", "views");
        writeln!(out, "    {} {}", palette.faint(format!("where {shared}:")), palette.faint(count))?;
        for own in views.iter().take(MOST_OF_GROUP) {
            writeln!(out, "      {}", if own.is_empty() { "nothing is known of elements" } else { own })?;
        }
        if views.len() > MOST_OF_GROUP {
            writeln!(out, "      ... and {} more", views.len() - MOST_OF_GROUP)?;
        }
    }
    if groups.len() > MOST_GROUPS {
        writeln!(out, "    ... and {} more situations", groups.len() - MOST_GROUPS)?;
    }
    if proof.count > proof.views.len() {
        writeln!(out, "    (of the first {} views)", proof.views.len())?;
    }
    Ok(())
}

fn write_locals(out: &mut dyn Write, view: &ExplainView<'_>, palette: Palette) -> io::Result<()> {
    if view.locals.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", palette.strong("local states"))?;
    for known in &view.locals {
        writeln!(out, "  {:<16} {}", view.model.sorts[known.sort].name, known.count)?;
        for (variable, values) in &known.ranges {
            writeln!(out, "    {variable}: {values}")?;
        }
        let Some(control) = &known.control else { continue };
        for (value, live, kept) in &known.points {
            let live = if live.is_empty() { "nothing else".to_string() } else { live.join(", ") };
            let point = palette.faint(format!("{control} = {value}:"));
            writeln!(out, "    {point} {live}{}", palette.faint(kept))?;
        }
    }
    if !view.plain.is_empty() {
        writeln!(out, "  beside them")?;
    }
    view.plain.iter().try_for_each(|(variable, values)| writeln!(out, "    {variable}: {values}"))
}

fn write_active(out: &mut dyn Write, view: &ExplainView<'_>, palette: Palette) -> io::Result<()> {
    if view.active.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", palette.strong("active conditions"))?;
    for known in &view.active {
        writeln!(out, "  of an element P of {}", view.model.show_type(known.index))?;
        for (variable, condition) in &known.shown {
            writeln!(out, "    {:<16} {condition}", variable)?;
        }
    }
    Ok(())
}

fn write_sorts(out: &mut dyn Write, view: &ExplainView<'_>, palette: Palette) -> io::Result<()> {
    writeln!(out, "\n{}", palette.strong("sorts"))?;
    if view.sorts.is_empty() {
        writeln!(out, "  none: nothing in this model is declared interchangeable")?;
    }
    for known in &view.sorts {
        let sort = &view.model.sorts[known.sort];
        let verdict = match (known.breaks.is_empty(), known.checked) {
            (true, _) => palette.good("symmetric: proved").to_string(),
            (false, true) => {
                palette.doubt("not proved: a search checks these places in every state").to_string()
            }
            (false, false) => palette.doubt("not symmetric: neither proved nor checked").to_string(),
        };
        writeln!(out, "  {:<16} {:<10}  {verdict}", sort.name, sort_size(sort.size))?;
        if !known.pinned.is_empty() {
            let names: Vec<String> = known.pinned.iter().map(|element| sort.element_name(*element)).collect();
            writeln!(out, "    named by the source and kept in place: {}", names.join(", "))?;
        }
        for broken in &known.breaks {
            let place = view.sources.locate(broken.span);
            writeln!(out, "    {place}  {}", one_line(view.sources.snippet(broken.span)))?;
            writeln!(out, "      {}", broken.reason)?;
        }
    }
    for hint in &view.hints {
        let place = view.sources.locate(hint.span);
        let with =
            if hint.with.is_empty() { String::new() } else { format!(" (with {})", hint.with.join(", ")) };
        writeln!(
            out,
            "  {} `{}`{with} could be a scalarset: nothing orders it; first used at {place}",
            palette.doubt("hint:"),
            hint.name
        )?;
    }
    Ok(())
}

fn sort_size(size: SortSize) -> String {
    match size {
        SortSize::Fixed(size) => plural(size, "element", "elements"),
        SortSize::Growing { limit: Some(limit), .. } => format!("up to {limit}"),
        SortSize::Growing { limit: None, .. } => "growing".into(),
        SortSize::Any => "any number".into(),
    }
}

fn write_vars(out: &mut dyn Write, model: &Model, palette: Palette) -> io::Result<()> {
    writeln!(out, "\n{}", palette.strong("variables"))?;
    let mut total = Some(0u64);
    for var in model.vars.iter() {
        let size = bits(model, var.ty);
        total = total.zip(size).and_then(|(total, size)| total.checked_add(size));
        let size = size.map_or("no fixed size".into(), |size| plural(size, "bit", "bits"));
        writeln!(out, "  {:<24} {:<40} {size:>8}", var.name, type_text(model, var.ty))?;
    }
    match total {
        Some(total) => writeln!(out, "  {:<24} {:<40} {:>8}", "in all", "", plural(total, "bit", "bits")),
        None => Ok(()),
    }
}

/// The name of a type with what is behind it, so that sizes can be understood.
fn type_text(model: &Model, ty: TypeId) -> String {
    one_line(&model.show_type(ty).to_string())
}

/// Bits that hold any value of a type, undefined included: each scalar by itself.
fn bits(model: &Model, ty: TypeId) -> Option<u64> {
    match model.kind(ty) {
        Type::Record { fields } => {
            fields.iter().try_fold(0u64, |sum, field| sum.checked_add(bits(model, field.ty)?))
        }
        Type::Array { index, element } => model.cardinality(*index)?.checked_mul(bits(model, *element)?),
        Type::Multiset { capacity, element } | Type::Sequence { capacity, element } => {
            u64::from(*capacity).checked_mul(bits(model, *element)?)
        }
        Type::Clock => None,
        _ => {
            let values = model.cardinality(ty)?.checked_add(1)?;
            Some(u64::from(u64::BITS - (values - 1).leading_zeros()))
        }
    }
}

fn write_code(out: &mut dyn Write, view: &ExplainView<'_>, palette: Palette) -> io::Result<()> {
    let model = view.model;
    writeln!(out, "\n{}", palette.strong("behaviour"))?;
    let (starts, rules) = (model.starts.len() as u64, model.rules.len() as u64);
    writeln!(out, "  {}, {}", plural(starts, "start", "starts"), plural(rules, "rule", "rules"))?;
    if !model.functions.is_empty() {
        writeln!(
            out,
            "  {}",
            plural(model.functions.len() as u64, "function or procedure", "functions and procedures")
        )?;
    }
    writeln!(out, "\n{}", palette.strong("properties"))?;
    for property in model.properties.iter() {
        let place = palette.faint(view.sources.locate(property.span)).to_string();
        writeln!(out, "  {:<52}  {place}", property.title())?;
    }
    Ok(())
}
