//! Stepping by hand: the moves are numbered, a number makes a move.

use shoal::{Loaded, Move, Simulation};
use shoal_report::{move_name, render_state, write_step};

use crate::{
    exit::{CommandFailure, ExitKind},
    lines::{LineSource, Typed},
    output::Console,
    sim::{COLUMN, problems, report, step_text},
};

const HELP: &str = "  \
  NUMBER   make that move
  r [N]    make N moves at random (1 if left out)
  b        take the last move back
  s        show the state
  l        list the moves again
  ?        this help
  q        quit";

/// Reads commands from standard input until it ends. The exit code is 1 if a violation was met on the way.
pub(crate) fn run(
    console: &Console,
    loaded: &Loaded,
    simulation: &mut Simulation<'_>,
) -> Result<ExitKind, CommandFailure> {
    console.line("choose a move by its number; ? for help")?;
    let mut stepper = InteractiveStepper { console, loaded, simulation, moves: Vec::new(), violated: false };
    stepper.begin()?;
    let mut lines = LineSource::of("sim");
    loop {
        match lines.next(console)? {
            Typed::Line(line) if stepper.obey(line.trim())? => {}
            Typed::Line(_) => return Ok(stepper.exit()),
            Typed::Garbage => stepper.say("that is not text")?,
            Typed::End => break,
        }
    }
    stepper.console.line("")?;
    Ok(stepper.exit())
}

struct InteractiveStepper<'a, 'm> {
    console: &'a Console,
    loaded: &'a Loaded,
    simulation: &'a mut Simulation<'m>,
    moves: Vec<Move>,
    violated: bool,
}

impl InteractiveStepper<'_, '_> {
    /// A model with one start state begins there.
    fn begin(&mut self) -> Result<(), CommandFailure> {
        self.moves = self.simulation.moves();
        match self.moves.as_slice() {
            [only] if only.result.is_ok() => {
                let only = only.clone();
                self.make(&only)
            }
            _ => self.list(),
        }
    }

    /// Does what a line says. False if it says to quit.
    fn obey(&mut self, line: &str) -> Result<bool, CommandFailure> {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match command {
            "q" | "quit" => return Ok(false),
            "?" | "h" | "help" => self.say(HELP)?,
            "l" => self.list()?,
            "s" => self.show_state()?,
            "b" => self.back()?,
            "r" => match argument.trim() {
                "" => self.random(1)?,
                number => match number.parse() {
                    Ok(number) => self.random(number)?,
                    Err(_) => self.say("r takes a number of moves")?,
                },
            },
            "" => {}
            number => match number.parse::<usize>().ok().and_then(|n| self.moves.get(n.checked_sub(1)?)) {
                Some(chosen) => {
                    let chosen = chosen.clone();
                    self.make(&chosen)?;
                }
                None => self.say(format_args!("there is no move {number:?}; ? for help"))?,
            },
        }
        Ok(true)
    }

    fn make(&mut self, chosen: &Move) -> Result<(), CommandFailure> {
        let before = self.simulation.state().cloned();
        self.simulation.take(chosen);
        self.tell(before.as_ref(), chosen)?;
        self.list()
    }

    fn random(&mut self, steps: u64) -> Result<(), CommandFailure> {
        for _ in 0..steps {
            let before = self.simulation.state().cloned();
            let Some(made) = self.simulation.step() else { break };
            self.tell(before.as_ref(), &made)?;
            if made.result.is_err() {
                break;
            }
        }
        self.list()
    }

    /// Shows a move that was made, and what is wrong after it.
    fn tell(&mut self, before: Option<&shoal::model::State>, made: &Move) -> Result<(), CommandFailure> {
        let number = self.simulation.trace().map_or(0, |trace| trace.steps.len());
        let step = step_text(&self.loaded.model, before, made, number);
        self.console.show(|out| write_step(out, &step, COLUMN, self.console.palette))?;
        let wrong = problems(self.loaded, self.simulation, made);
        self.violated |= !wrong.is_empty();
        report(self.console, self.loaded, &wrong)
    }

    fn back(&mut self) -> Result<(), CommandFailure> {
        match self.simulation.back() {
            true => self.list(),
            false => self.say("this is the beginning"),
        }
    }

    fn show_state(&self) -> Result<(), CommandFailure> {
        match self.simulation.state() {
            Some(state) => self.say(render_state(&self.loaded.model, state).join("\n")),
            None => self.say("no start has been chosen yet"),
        }
    }

    fn list(&mut self) -> Result<(), CommandFailure> {
        self.moves = self.simulation.moves();
        if self.moves.is_empty() {
            return self.say("no rule is enabled; b goes back, q quits");
        }
        for (position, next) in self.moves.iter().enumerate() {
            let fault = next.result.as_ref().err().map(|fault| format!("  ({})", fault.kind));
            let name = move_name(&self.loaded.model, self.simulation.state(), next);
            self.say(format_args!("  {:>3}) {name}{}", position + 1, fault.unwrap_or_default()))?;
        }
        Ok(())
    }

    fn say(&self, text: impl std::fmt::Display) -> Result<(), CommandFailure> {
        self.console.line(text)
    }

    fn exit(&self) -> ExitKind {
        if self.violated { ExitKind::Violated } else { ExitKind::Good }
    }
}
