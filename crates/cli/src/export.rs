//! `shoal export`.

use shoal_report::{ExportNote, NetLanguage, export_net};

use crate::{
    args::{ExportArgs, ExportLanguage, LimitArgs},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    output::{self, Console, write_to},
    progress::listen,
};

/// Writes the counter system of a model, with what is asked of it. What the file itself cannot say is said beside it, as options.
pub(crate) fn run(console: &Console, args: &ExportArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let loaded = crate::source::load(&args.file, &args.model.load_options(&watch))?;
    let asked = shoal::select(&loaded, &args.property)?;
    let counted = shoal::count(&loaded, &watch)?;
    let mut targets = Vec::new();
    for property in asked {
        targets.extend(counted.targets(property).map_err(shoal::Error::Unsupported)?);
    }
    let language = match args.to {
        ExportLanguage::Spec => NetLanguage::Mist,
        ExportLanguage::Tts => NetLanguage::ThreadTransitions,
        ExportLanguage::Pnml => NetLanguage::Pnml,
    };
    let (text, beside) = export_net(counted.system(), &targets, language)
        .map_err(|lacks| CommandFailure::wrong(format_args!("this language cannot say: {lacks}")))?;
    write_to(console, args.output.as_deref(), FileKind::Text, |out| out.write_all(text.as_bytes()))?;
    if !beside.is_empty() {
        let options: Vec<String> = beside.iter().map(option).collect();
        output::complain(format_args!("to be asked with: shoal check {}", options.join(" ")));
    }
    Ok(ExitKind::Good)
}

fn option(beside: &ExportNote) -> String {
    match beside {
        ExportNote::Init(init) => format!("--init={init}"),
        ExportNote::Target(target) => format!("--target={target}"),
    }
}
