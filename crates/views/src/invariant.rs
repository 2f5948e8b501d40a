//! The views found as plain data: what a certificate of a proof has.

use shoal_certificate::{OpenCell, OpenHop, OpenInvariant, OpenPlace, OpenPredicate, OpenView};
use shoal_model::{PropertyId, TypedId};
use shoal_syntax::Span;

use crate::{
    Lacking, ViewConfig,
    cell::{Cell, ViewScalar},
    layout::Hop,
    store::ViewStore,
    system::OpenSystem,
};

impl OpenSystem<'_> {
    /// All views, and what they prove of what was asked.
    pub(crate) fn invariant(
        &self,
        store: &ViewStore,
        config: &ViewConfig,
        asked: &[PropertyId],
        proved: &[PropertyId],
        order: Option<OpenPredicate>,
    ) -> Result<OpenInvariant, Lacking> {
        let positions = |properties: &[PropertyId]| properties.iter().map(|it| it.index() as u32).collect();
        let elements = self.any.iter().zip(&self.view).map(|(any, count)| any.then_some(*count as u32));
        let views = store.leaders.iter().map(|id| {
            open_view(&store.views[*id as usize]).ok_or_else(|| {
                let what = "internal error: a view with a cell that is not there".into();
                Lacking { what, span: Span::default() }
            })
        });
        Ok(OpenInvariant {
            elements: elements.collect(),
            more: config.more as u32,
            predicates: self.open_predicates(),
            order,
            places: self.shape.offsets.iter().map(|at| self.open_place(*at)).collect(),
            views: views.collect::<Result<_, _>>()?,
            asked: positions(asked),
            proved: positions(proved),
            refreshed: false,
            opened: false,
            loosened: false,
            unread: false,
        })
    }

    fn open_predicates(&self) -> Vec<OpenPredicate> {
        let plain = self.predicates.iter().map(|it| OpenPredicate {
            sort: it.sort as u32,
            negated: it.forall,
            element: it.locals[it.local].name.clone(),
            body: shoal_model::print_expr(self.model, it.locals, it.body),
        });
        plain.collect()
    }

    fn open_place(&self, at: usize) -> OpenPlace {
        let info = &self.layout.cells[at];
        let family = &self.layout.families[info.family];
        let mut elements = info.dims.iter().map(|dim| dim.element as u32);
        let hop = |hop: &Hop| match *hop {
            Hop::Field(at) => OpenHop::Field(at as u32),
            Hop::Entry(at) => OpenHop::Entry(at as u32),
            // A cell has an element for each such hop.
            Hop::Elem(sort) => {
                OpenHop::Known { sort: sort as u32, element: elements.next().unwrap_or(u32::MAX) }
            }
            Hop::Slot(at) => OpenHop::Slot(at as u32),
            Hop::InUse(at) => OpenHop::InUse(at as u32),
        };
        OpenPlace { var: family.var.index() as u32, path: family.path.iter().map(hop).collect() }
    }
}

fn open_view(view: &[u32]) -> Option<OpenView> {
    let (bits, cells) = view.split_last()?;
    let cells = cells.iter().map(|cell| Cell(*cell).unpack().map(open_cell)).collect::<Option<_>>()?;
    Some(OpenView { cells, bits: *bits })
}

fn open_cell(scalar: ViewScalar) -> OpenCell {
    match scalar {
        ViewScalar::Undefined => OpenCell::Undefined,
        ViewScalar::Null => OpenCell::Null,
        ViewScalar::Bool(value) => OpenCell::Bool(value),
        ViewScalar::Int(value) => OpenCell::Int(value),
        ViewScalar::Enum(ty, at) => OpenCell::Enum { ty: ty.index() as u32, at },
        ViewScalar::Elem(sort, element) => OpenCell::Elem { sort: sort.index() as u32, element },
        ViewScalar::Star(sort, number) => OpenCell::Star { sort: sort.index() as u32, number },
    }
}
