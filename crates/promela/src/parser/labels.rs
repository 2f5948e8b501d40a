//! Labels and jumps: which of the labels of a name a `goto` leads to.
//!
//! Blocks in braces are the scopes of labels, and each expansion of an inline is a block of its own. A jump leads to the label
//! of its own block, else of the innermost block around it that has one, else to the only one there is. SPIN takes a name to
//! be the one that it has seen in a block around, so it may come to another label where inlines with the same label are
//! nested. What SPIN does is what counts; where that is not what the blocks say, there is a warning.

use shoal_syntax::{Diagnostic, did_you_mean};

use super::Parser;
use crate::{
    ast::{JumpId, LabelId, Name},
    codes,
};

/// The blocks that a place is in, the outermost first.
type LabelScope = Vec<u32>;

/// A label or a jump, and where it stands.
struct LabelSite {
    name: Name,
    scope: LabelScope,
    /// The scope that SPIN takes the name to be of: the first around this one in which it was seen.
    known: LabelScope,
}

/// The labels and jumps of a proctype.
#[derive(Default)]
pub(super) struct Labels {
    scope: LabelScope,
    blocks: u32,
    labels: Vec<LabelSite>,
    jumps: Vec<LabelSite>,
    /// How many there are in the proctypes before.
    labels_before: usize,
    jumps_before: usize,
}

impl Labels {
    pub(super) fn enter(&mut self) {
        self.blocks += 1;
        self.scope.push(self.blocks);
    }

    pub(super) fn leave(&mut self) {
        self.scope.pop();
    }

    /// A label is declared here.
    pub(super) fn name(&mut self, name: Name) -> LabelId {
        let site = self.site(name);
        self.labels.push(site);
        self.labels_before + self.labels.len() - 1
    }

    /// A jump stands here.
    pub(super) fn jump(&mut self, name: Name) -> JumpId {
        let site = self.site(name);
        self.jumps.push(site);
        self.jumps_before + self.jumps.len() - 1
    }

    fn site(&self, name: Name) -> LabelSite {
        let seen = self.labels.iter().chain(&self.jumps);
        let around = seen.filter(|site| site.name.node == name.node && self.scope.starts_with(&site.known));
        let known = around.map(|site| &site.known).max_by_key(|known| known.len());
        LabelSite { name, known: known.unwrap_or(&self.scope).clone(), scope: self.scope.clone() }
    }

    /// What was read so far belongs to nothing.
    pub(super) fn forget(&mut self) {
        self.scope.clear();
        self.labels.clear();
        self.jumps.clear();
    }

    fn of_name<'s>(&'s self, name: &str) -> impl DoubleEndedIterator<Item = (LabelId, &'s LabelSite)> {
        self.labels.iter().enumerate().filter(move |(_, label)| *label.name.node == *name)
    }

    /// The label of the innermost block around a jump, or the only one.
    fn of_block(&self, jump: &LabelSite) -> Option<LabelId> {
        let around = self.of_name(&jump.name.node).filter(|(_, label)| jump.scope.starts_with(&label.scope));
        let inner = around.max_by_key(|(_, label)| label.scope.len());
        let only =
            || self.of_name(&jump.name.node).next().filter(|_| self.of_name(&jump.name.node).count() == 1);
        inner.or_else(only).map(|(id, _)| id)
    }

    /// The label that SPIN takes: looking back from the last, one of the same scope, else the first one of a scope around.
    fn of_spin(&self, jump: &LabelSite) -> Option<LabelId> {
        let mut any = None;
        for (id, label) in self.of_name(&jump.name.node).rev() {
            if label.known == jump.known {
                return Some(id);
            }
            if any.is_none() || jump.known.starts_with(&label.known) {
                any = Some(id);
            }
        }
        any
    }
}

impl Parser {
    /// Finds where the jumps of a proctype lead, now that all its labels are known.
    pub(super) fn resolve_jumps(&mut self) {
        let labels = std::mem::take(&mut self.labels);
        for (at, label) in labels.labels.iter().enumerate() {
            let same = |(other, site): &(LabelId, &LabelSite)| *other < at && site.scope == label.scope;
            if let Some((_, other)) = labels.of_name(&label.name.node).find(same) {
                let message = format!("the label `{}` is declared twice in this block", label.name.node);
                let diagnostic = Diagnostic::error(codes::BAD_LABEL, label.name.span, message);
                self.diagnostics.push(diagnostic.also(other.name.span, "it is declared here too"));
            }
        }
        for jump in &labels.jumps {
            let target = labels.of_spin(jump);
            match target {
                None => self.no_label(jump, &labels),
                Some(target) if labels.of_block(jump) != Some(target) => {
                    self.unexpected_label(jump, &labels.labels[target]);
                }
                Some(_) => {}
            }
            self.program.jumps.push(target.map(|target| labels.labels_before + target));
        }
        self.labels = Labels {
            labels_before: labels.labels_before + labels.labels.len(),
            jumps_before: self.program.jumps.len(),
            blocks: labels.blocks,
            ..Labels::default()
        };
    }

    fn no_label(&mut self, jump: &LabelSite, labels: &Labels) {
        let near = did_you_mean(&jump.name.node, labels.labels.iter().map(|label| &*label.name.node));
        let message = format!("there is no label `{}` in this proctype", jump.name.node);
        let mut diagnostic = Diagnostic::error(codes::BAD_LABEL, jump.name.span, message);
        if let Some(near) = near {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(diagnostic);
    }

    fn unexpected_label(&mut self, jump: &LabelSite, target: &LabelSite) {
        let name = &jump.name.node;
        let message = format!(
            "there are several labels `{name}`, and as in SPIN this does not lead to the nearest block's"
        );
        let diagnostic = Diagnostic::warning(codes::OTHER_LABEL, jump.name.span, message);
        let diagnostic = diagnostic.also(target.name.span, "it leads to a label that is made from here");
        self.diagnostics.push(diagnostic.help("give labels in different inlines and blocks different names"));
    }
}
