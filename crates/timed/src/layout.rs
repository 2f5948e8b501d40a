//! Where the scalar parts of a model's variables are kept: one list of numbers for what is global, one for each element of
//! a sort; and the clocks beside them.
//!
//! A sort is *lumped* if its elements may be exchanged: then a state knows only how many elements are alike. The
//! elements of other sorts are told apart, and arrays over them are laid out entry by entry.

use shoal_model::{
    Domain, Model, Projection, Root, SortId, SortSize, Stmt, StmtKind, Type, TypeId, TypedId, Unsupported,
    VarId,
};
use shoal_syntax::Span;
use shoal_tctl::unsupported;

/// How much room a type takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) cells: usize,
    pub(crate) clocks: usize,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariableHome {
    /// The lumped sort whose elements have it; none if it is global.
    pub(crate) sort: Option<SortId>,
    /// Its first cell and clock there.
    pub(crate) at: Room,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct ZoneLayout {
    pub(crate) homes: Vec<VariableHome>,
    /// By type.
    pub(crate) rooms: Vec<Room>,
    pub(crate) global: Room,
    /// By sort: what each element has; nothing for sorts that are not lumped.
    pub(crate) local: Vec<Option<Room>>,
    /// The types of the cells, to say which hold references to lumped sorts.
    pub(crate) global_refs: Vec<Option<SortId>>,
    pub(crate) local_refs: Vec<Vec<Option<SortId>>>,
    pub(crate) global_types: Vec<TypeId>,
    pub(crate) local_types: Vec<Vec<TypeId>>,
}

impl ZoneLayout {
    /// Lays out a model with some of its sorts lumped.
    pub(crate) fn new(model: &Model, lumped: &[SortId]) -> Result<ZoneLayout, Unsupported> {
        for sort in model.sorts.iter() {
            if matches!(sort.size, SortSize::Growing { .. }) {
                return unsupported("sorts that grow", Some(sort.span));
            }
        }
        let mut layout = ZoneLayout {
            homes: Vec::new(),
            rooms: Vec::new(),
            global: Room::default(),
            // The first cell of an element says who it is, if its name matters.
            local: model
                .sorts
                .ids()
                .map(|sort| lumped.contains(&sort).then_some(Room { cells: 1, clocks: 0 }))
                .collect(),
            global_refs: Vec::new(),
            local_refs: vec![vec![None]; model.sorts.len()],
            global_types: Vec::new(),
            local_types: vec![vec![TypeId::from_index(0)]; model.sorts.len()],
        };
        layout.rooms = model.types.ids().map(|ty| room(model, ty)).collect();
        for var in model.vars.iter() {
            let owner = match model.kind(var.ty) {
                Type::Array { index, element } => match model.kind(*index) {
                    Type::Ref { sort, nullable: false } if lumped.contains(sort) => Some((*sort, *element)),
                    _ => None,
                },
                _ => None,
            };
            let (mut refs, mut types) = (Vec::new(), Vec::new());
            let inner = owner.map_or(var.ty, |(_, element)| element);
            flatten(model, inner, lumped, &mut refs, &mut types, var.span)?;
            let clocks = layout.rooms[inner.index()].clocks;
            let (at, sort) = match owner {
                Some((sort, _)) => {
                    let Some(room) = &mut layout.local[sort.index()] else {
                        return unsupported("a lost sort", None);
                    };
                    let at = *room;
                    *room = Room { cells: at.cells + refs.len(), clocks: at.clocks + clocks };
                    layout.local_refs[sort.index()].extend(refs);
                    layout.local_types[sort.index()].extend(types);
                    (at, Some(sort))
                }
                None => {
                    let at = layout.global;
                    layout.global = Room { cells: at.cells + refs.len(), clocks: at.clocks + clocks };
                    layout.global_refs.extend(refs);
                    layout.global_types.extend(types);
                    (at, None)
                }
            };
            layout.homes.push(VariableHome { sort, at });
        }
        Ok(layout)
    }

    pub(crate) fn room(&self, ty: TypeId) -> Room {
        self.rooms[ty.index()]
    }

    pub(crate) fn home(&self, var: VarId) -> VariableHome {
        self.homes[var.index()]
    }
}

fn room(model: &Model, ty: TypeId) -> Room {
    match model.kind(ty) {
        Type::Clock => Room { cells: 0, clocks: 1 },
        Type::Array { index, element } => {
            let (inner, length) = (room(model, *element), model.cardinality(*index).unwrap_or(0) as usize);
            Room { cells: inner.cells * length, clocks: inner.clocks * length }
        }
        Type::Record { fields } => {
            let rooms = fields.iter().map(|field| room(model, field.ty));
            rooms.fold(Room::default(), |a, b| Room { cells: a.cells + b.cells, clocks: a.clocks + b.clocks })
        }
        _ => Room { cells: 1, clocks: 0 },
    }
}

/// The cells of a type: which hold references to lumped sorts.
fn flatten(
    model: &Model,
    ty: TypeId,
    lumped: &[SortId],
    refs: &mut Vec<Option<SortId>>,
    types: &mut Vec<TypeId>,
    span: Span,
) -> Result<(), Unsupported> {
    match model.kind(ty) {
        Type::Clock => {}
        Type::Array { index, element } => {
            if matches!(model.kind(*index), Type::Ref { sort, .. } if lumped.contains(sort)) {
                return unsupported("arrays over a sort inside of others", Some(span));
            }
            for _ in 0..model.cardinality(*index).unwrap_or(0) {
                flatten(model, *element, lumped, refs, types, span)?;
            }
        }
        Type::Record { fields } => {
            for field in fields {
                flatten(model, field.ty, lumped, refs, types, span)?;
            }
        }
        Type::Multiset { .. } => return unsupported("multisets", Some(span)),
        Type::Sequence { .. } => return unsupported("sequences", Some(span)),
        Type::Union { .. } => return unsupported("unions", Some(span)),
        Type::Ref { sort, .. } => {
            refs.push(lumped.contains(sort).then_some(*sort));
            types.push(ty);
        }
        _ => {
            refs.push(None);
            types.push(ty);
        }
    }
    Ok(())
}

/// Whether the elements of a sort can have classes of their own: no array over it lies inside of another.
pub(crate) fn can_class(model: &Model, sort: SortId) -> bool {
    let is_index = |ty: TypeId| matches!(model.kind(ty), Type::Ref { sort: of, .. } if *of == sort);
    let nested = model.vars.iter().any(|var| match model.kind(var.ty) {
        Type::Array { element, .. } => has_array(model, *element, &is_index),
        _ => has_array(model, var.ty, &is_index),
    });
    // Nor in a local: its cells are not kept by class.
    let codes = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code);
    let codes = codes.chain(model.functions.iter().map(|function| &function.code));
    let in_locals =
        codes.flat_map(|code| code.locals.iter()).any(|local| has_array(model, local.ty, &is_index));
    let nullable_index = model.types.iter().any(|def| match &def.kind {
        Type::Array { index, .. } => {
            matches!(model.kind(*index), Type::Ref { sort: of, nullable: true } if *of == sort)
        }
        _ => false,
    });
    !nested && !in_locals && !nullable_index
}

/// Whether a class of several elements of a sort can go through all code: every loop over it does the same to like
/// elements.
pub(crate) fn can_lump(model: &Model, sort: SortId) -> bool {
    let bodies = model.rules.iter().map(|rule| &rule.code.body);
    let bodies = bodies.chain(model.functions.iter().map(|function| &function.code.body));
    let bodies = bodies.chain(model.starts.iter().map(|start| &start.code.body));
    !bodies.into_iter().any(|body| has_wild_loop(model, body, sort))
}

fn has_array(model: &Model, ty: TypeId, is_index: &dyn Fn(TypeId) -> bool) -> bool {
    match model.kind(ty) {
        Type::Array { index, element } => is_index(*index) || has_array(model, *element, is_index),
        Type::Record { fields } => fields.iter().any(|field| has_array(model, field.ty, is_index)),
        _ => false,
    }
}

/// Whether a loop over the sort does more than set entries of its own element.
fn has_wild_loop(model: &Model, body: &[Stmt], sort: SortId) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::For { local, domain: Domain::Type(ty), body } if model.sorts_of(*ty).contains(&sort) => {
            let own = |place: &shoal_model::Place| {
                matches!(place.root, Root::Var(_))
                    && matches!(place.path.first(), Some(Projection::Index(index))
                        if matches!(&index.kind, shoal_model::ExprKind::Read(read) if read.root == Root::Local(*local) && read.path.is_empty()))
            };
            !body.iter().all(|stmt| match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    let global = matches!(place.root, Root::Var(_)) && place.path.is_empty();
                    (own(place) || global) && matches!(value.kind, shoal_model::ExprKind::Const(_))
                }
                StmtKind::Clear(place) => own(place),
                _ => false,
            })
        }
        StmtKind::Choose { domain: Domain::Type(ty), .. } => model.sorts_of(*ty).contains(&sort),
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => has_wild_loop(model, body, sort),
        StmtKind::If(arms, other) => {
            arms.iter().any(|(_, body)| has_wild_loop(model, body, sort)) || has_wild_loop(model, other, sort)
        }
        // The bodies of functions are looked at for themselves.
        StmtKind::Choose { domain: Domain::Range { .. } | Domain::Slots(_), .. }
        | StmtKind::Assign(..)
        | StmtKind::Clear(_)
        | StmtKind::Undefine(_)
        | StmtKind::Bind(_)
        | StmtKind::Check { .. }
        | StmtKind::Return(_)
        | StmtKind::Call(..)
        | StmtKind::Output(_)
        | StmtKind::MultisetAdd(..)
        | StmtKind::MultisetRemove(..)
        | StmtKind::MultisetRemoveIf { .. }
        | StmtKind::Insert { .. }
        | StmtKind::Remove(..)
        | StmtKind::Create(..)
        | StmtKind::Delete(_) => false,
    })
}
