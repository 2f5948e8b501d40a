//! A model made in Rust, without a source file: processes that take a ticket and are served in the order of the tickets, as many
//! as one likes.
//!
//! `cargo run -p shoal --example model_in_rust`

#![allow(clippy::print_stdout)]

use shoal::{
    CheckOptions, Error, Event, Loaded, Session, Status, Verdict,
    model::{BinaryOp, Malformed, Model, ModelBuilder},
};

/// Idle, waiting or being served.
const PHASES: [&str; 3] = ["Idle", "Waits", "Served"];

/// `patient` processes wait until it is their turn.
pub(crate) fn tickets(processes: u32, patient: bool) -> Result<Model, Malformed> {
    let mut model = ModelBuilder::new("tickets");
    let process = model.sort("process", processes);
    let id = model.reference(process);
    let phase = model.enumeration("phase", &PHASES);
    let number = model.range(0, i64::from(processes) - 1);
    let (phases, numbers) = (model.array(id, phase), model.array(id, number));
    let (stands, ticket) = (model.var("stands", phases), model.var("ticket", numbers));
    let (next, serving) = (model.var("next", number), model.var("serving", number));
    // Numbers begin again when all have been used: no more than `processes` of them are out at a time.
    let after = |code: &mut shoal::model::CodeBuilder<'_>, var| {
        let more = code.binary(BinaryOp::Add, code.value(var), code.int(1));
        code.binary(BinaryOp::Rem, more, code.int(i64::from(processes)))
    };
    model.start("all are idle", |code| {
        code.for_each("p", id, |code, p| {
            code.assign(code.entry(stands, p.clone()), code.variant(phase, 0));
        });
        code.assign(code.place(next), code.int(0));
        code.assign(code.place(serving), code.int(0));
    });
    model.rule("take a ticket", |code| {
        let p = code.param("p", id);
        let own = code.entry(stands, p.clone());
        code.guard(code.equal(code.read(own.clone()), code.variant(phase, 0)));
        code.assign(own, code.variant(phase, 1));
        code.assign(code.entry(ticket, p), code.value(next));
        let number = after(code, next);
        code.assign(code.place(next), number);
    });
    model.rule("be served", |code| {
        let p = code.param("p", id);
        let own = code.entry(stands, p.clone());
        code.guard(code.equal(code.read(own.clone()), code.variant(phase, 1)));
        if patient {
            code.guard(code.equal(code.read(code.entry(ticket, p)), code.value(serving)));
        }
        code.assign(own, code.variant(phase, 2));
    });
    model.rule("leave", |code| {
        let p = code.param("p", id);
        let own = code.entry(stands, p.clone());
        code.guard(code.equal(code.read(own.clone()), code.variant(phase, 2)));
        code.assign(own, code.variant(phase, 0));
        code.undefine(code.entry(ticket, p));
        let number = after(code, serving);
        code.assign(code.place(serving), number);
    });
    model.invariant("one at a time", |code| {
        let served = code
            .count("p", id, |code, p| code.equal(code.read(code.entry(stands, p)), code.variant(phase, 2)));
        code.binary(BinaryOp::Le, served, code.int(1))
    });
    model.no_deadlock();
    model.finish()
}

/// Checks a model and gives what came of it, with the names of what is violated.
pub(crate) fn check(model: Model) -> Result<(Status, Vec<String>, u64), Error> {
    let session = Session::of(Loaded::of_model(model)?);
    let mut violated = Vec::new();
    let report = session.run(&CheckOptions::default(), &mut |event| {
        if let Event::Verdict(decided) = event
            && let Verdict::Violated(_) = decided.verdict
        {
            violated.push(session.loaded().model.properties[decided.property].name.clone());
        }
    })?;
    Ok((report.status(), violated, report.outcome.statistics.states))
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for patient in [true, false] {
        let (status, violated, states) = check(tickets(5, patient)?)?;
        println!("patient = {patient}: {status:?} {violated:?}, {states} states");
    }
    Ok(())
}
