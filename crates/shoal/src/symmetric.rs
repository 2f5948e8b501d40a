//! Which sorts to reduce by, and on what grounds: proved, checked while searching, or taken at the user's word.

use shoal_analysis::Symmetry;
use shoal_model::{Asymmetry, Model, Order, PartialOrder, PropertyKind, Reduction, SortId, Statistics};
use shoal_syntax::{Diagnostic, Diagnostics};

use crate::{CheckOptions, Engine, Loaded, plan::NOT_SYMMETRIC};

/// The sorts of a model that a search reduces by.
pub(crate) struct Sorts {
    pub(crate) symmetry: Symmetry,
    pub(crate) proved: Vec<SortId>,
    pub(crate) checked: Vec<SortId>,
    pub(crate) trusted: Vec<SortId>,
}

/// In so many orders of elements, at most, rules are tried in each state.
const MOST_ORDERS: u64 = 5040;

impl Sorts {
    pub(crate) fn new(model: &Model, options: &CheckOptions, engine: Engine) -> Sorts {
        // The other engines count on starts that treat elements alike.
        let symmetry = match engine {
            Engine::Explicit => shoal_analysis::symmetry_of_steps(model),
            _ => shoal_analysis::symmetry(model),
        };
        let (proved, others): (Vec<SortId>, Vec<SortId>) =
            model.sorts.ids().partition(|sort| symmetry.sorts[*sort].is_proved());
        let mut sorts = Sorts { symmetry, proved, checked: Vec::new(), trusted: Vec::new() };
        if engine != Engine::Explicit || !options.symmetry {
            return sorts;
        }
        if options.trust {
            sorts.trusted = others;
        } else if why_not_checked(model, options).is_none() {
            sorts.checked = sorts.few(model, others);
        }
        sorts
    }

    /// As many of some sorts as can be checked together, the smallest first.
    fn few(&self, model: &Model, mut sorts: Vec<SortId>) -> Vec<SortId> {
        sorts.sort_by_key(|sort| model.sorts[*sort].fixed_size());
        let mut orders = 1;
        sorts.retain(|sort| match orders_of(model, &self.symmetry, *sort) {
            Some(own) if orders * own <= MOST_ORDERS => {
                orders *= own;
                true
            }
            _ => false,
        });
        let suspects = self.symmetry.suspects(model, &sorts);
        let given = |kind: &PropertyKind| matches!(kind, PropertyKind::Assume(_));
        match suspects.others || suspects.properties.iter().any(|id| given(&model.properties[*id].kind)) {
            true => Vec::new(),
            false => sorts,
        }
    }
}

/// In how many orders the elements of a sort can be taken that may be permuted, if that is at most [`MOST_ORDERS`].
fn orders_of(model: &Model, symmetry: &Symmetry, sort: SortId) -> Option<u64> {
    let size = u64::from(model.sorts[sort].fixed_size()?);
    let free = size.checked_sub(symmetry.sorts[sort].pinned.len() as u64)?;
    (1..=free).try_fold(1u64, |product, factor| {
        product.checked_mul(factor).filter(|product| *product <= MOST_ORDERS)
    })
}

/// What keeps a search from checking symmetry.
pub(crate) fn why_not_checked(model: &Model, options: &CheckOptions) -> Option<&'static str> {
    let saves = options.checkpoints.save.is_some() || options.checkpoints.resume.is_some();
    if saves {
        Some("a search that is saved")
    } else if options.strategy.order != Order::BreadthFirst {
        Some("a search that is not breadth first")
    } else if options.strategy.partial_order == PartialOrder::Stubborn
        || options.strategy.partial_order == PartialOrder::Agents && !model.agents.is_empty()
    {
        Some("a search that leaves out orders of steps")
    } else if model.has_unfixed_sorts() {
        Some("a model with elements that come and go")
    } else {
        None
    }
}

/// Adds to the reductions of a search what was taken at the user's word. How many states there are without them is not known then.
pub(crate) fn name_trusted(statistics: &mut Statistics, trusted: &[SortId]) {
    let used: Vec<SortId> = statistics
        .reductions
        .iter()
        .flat_map(|reduction| match reduction {
            Reduction::Symmetry(sorts) => sorts.as_slice(),
            Reduction::Checked(_)
            | Reduction::Trusted(_)
            | Reduction::Ranges(_)
            | Reduction::Automorphisms(_)
            | Reduction::Inactive(_)
            | Reduction::PartialOrder => &[],
        })
        .copied()
        .filter(|sort| trusted.contains(sort))
        .collect();
    if !used.is_empty() {
        statistics.reductions.push(Reduction::Trusted(used));
        statistics.states_full = None;
    }
}

/// Warnings about sorts that turned out not to be symmetric, each with a state that shows it.
pub fn asymmetry_warnings(loaded: &Loaded, asymmetries: &[Asymmetry]) -> Diagnostics {
    let model = &loaded.model;
    let mut warnings = Diagnostics::new();
    if asymmetries.is_empty() {
        return warnings;
    }
    let symmetry = shoal_analysis::symmetry_of_steps(model);
    for found in asymmetries {
        let sort = &model.sorts[found.sort];
        let message = format!("`{}` is not symmetric; every state of it is searched", sort.name);
        let (span, what) = match (found.rule, found.property) {
            (Some(rule), _) => (model.rules[rule].span, format!("rule \"{}\"", model.rules[rule].name)),
            (None, Some(property)) => {
                let property = &model.properties[property];
                (property.span, format!("property \"{}\"", property.name))
            }
            (None, None) => (sort.span, "the model".into()),
        };
        let [one, other] = &found.results;
        let said = format!("{what} gives {one}, and in another order of elements {other}");
        let mut warning = Diagnostic::warning(NOT_SYMMETRIC, span, message).at(said);
        if let Some(first) = symmetry.sorts[found.sort].breaks.first() {
            warning = warning.also(first.span, first.reason.clone());
        }
        warnings.push(warning.help(describe(model, found)));
    }
    warnings
}

/// The state and the order of elements.
fn describe(model: &Model, found: &Asymmetry) -> String {
    let orders: Vec<String> = found
        .orders
        .iter()
        .map(|(sort, order)| {
            let names: Vec<String> =
                order.iter().map(|element| model.sorts[*sort].element_name(*element)).collect();
            names.join(", ")
        })
        .collect();
    let values: Vec<String> = model
        .vars
        .iter()
        .zip(&found.state.values)
        .map(|(var, value)| format!("{} = {}", var.name, model.show(value)))
        .collect();
    format!("the other order is {}, and the state {}", orders.join("; "), values.join(", "))
}
