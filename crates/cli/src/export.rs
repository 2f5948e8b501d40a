//! `shoal export`.

use shoal::Loaded;
use shoal_report::{
    CannotSay, DeadlockAsked, ExportNote, MurphiNote, MurphiReaders, NetLanguage, export_murphi, export_net,
};

use crate::{
    args::{ExportArgs, ExportLanguage, LimitArgs},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    output::{self, Console, write_to},
    progress::listen,
};

/// Writes a model, or its counter system, in another language. What the file itself cannot say is said beside it.
pub(crate) fn run(console: &Console, args: &ExportArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let loaded = crate::source::load(&args.file, &args.model.load_options(&watch))?;
    let (text, beside) = match args.to {
        ExportLanguage::Spec => net(args, &loaded, &watch, NetLanguage::Mist)?,
        ExportLanguage::Tts => net(args, &loaded, &watch, NetLanguage::ThreadTransitions)?,
        ExportLanguage::Pnml => net(args, &loaded, &watch, NetLanguage::Pnml)?,
        ExportLanguage::Murphi => murphi(args, &loaded)?,
    };
    write_to(console, args.output.as_deref(), FileKind::Text, |out| out.write_all(text.as_bytes()))?;
    beside.iter().for_each(output::complain);
    Ok(ExitKind::Good)
}

/// What is written, and what is to be said beside it.
type Exported = (String, Vec<String>);

fn cannot(lacks: CannotSay) -> CommandFailure {
    CommandFailure::wrong(format_args!("this language cannot say: {lacks}"))
}

fn net(
    args: &ExportArgs,
    loaded: &Loaded,
    watch: &shoal::Watch,
    language: NetLanguage,
) -> Result<Exported, CommandFailure> {
    let asked = shoal::select(loaded, &args.property)?;
    let counted = shoal::count(loaded, watch)?;
    let mut targets = Vec::new();
    for property in asked {
        targets.extend(counted.targets(property).map_err(shoal::Error::Unsupported)?);
    }
    let (text, beside) = export_net(counted.system(), &targets, language).map_err(cannot)?;
    let options: Vec<String> = beside.iter().map(option).collect();
    let asked_with =
        (!options.is_empty()).then(|| format!("to be asked with: shoal check {}", options.join(" ")));
    Ok((text, asked_with.into_iter().collect()))
}

fn option(beside: &ExportNote) -> String {
    match beside {
        ExportNote::Init(init) => format!("--init={init}"),
        ExportNote::Target(target) => format!("--target={target}"),
    }
}

fn murphi(args: &ExportArgs, loaded: &Loaded) -> Result<Exported, CommandFailure> {
    if !args.property.is_empty() {
        return Err(CommandFailure::wrong(
            "--property is for nets and thread transition systems: Murphi text asks all",
        ));
    }
    let exported = export_murphi(&loaded.model).map_err(cannot)?;
    Ok((exported.text, exported.notes.iter().map(words).collect()))
}

/// A note in words.
fn words(note: &MurphiNote) -> String {
    match note {
        MurphiNote::Deadlock(asked) => {
            let word = match asked {
                DeadlockAsked::Off => "off",
                DeadlockAsked::Stuck => "stuck",
                DeadlockAsked::Stuttering => "stuttering",
            };
            format!("to be asked with: shoal check --deadlock {word}, rumur --deadlock-detection {word}")
        }
        MurphiNote::LeftOut(title) => format!("left out: {title}"),
        MurphiNote::BoundIsAssertion(name) => {
            format!(
                "bound {name:?} is an assertion: where it fails, the model has no room, and nothing is known of what comes next"
            )
        }
        MurphiNote::SortIsRange(name, why) => format!("{name} is a range of numbers and no scalarset: {why}"),
        MurphiNote::WhileLimit(rounds) => format!("to be read with: shoal check --while-limit {rounds}"),
        MurphiNote::FaultsAsked => "run-time errors are asked for, though the model does not ask".into(),
        MurphiNote::Readers(readers, reasons) => {
            let who = match readers {
                MurphiReaders::ShoalAndRumur => "Shoal and Rumur read this, CMurphi does not",
                MurphiReaders::ShoalAndCmurphi => "Shoal and CMurphi read this, Rumur does not",
                MurphiReaders::Shoal => "Shoal reads this, Rumur and CMurphi do not",
            };
            format!("{who}: {}", reasons.join(", "))
        }
    }
}
