//! The paper's counts.

use shoal_model::Model;
use shoal_syntax::SourceMap;
use shoal_template::{Options, Setting, vpl};
use shoal_timed::{
    graphs::{self, Graph, Reducer},
    system::System,
};

fn load(name: &str, size: i64) -> Model {
    let path = format!("{}/../../models/sgm/{name}.vpl", env!("CARGO_MANIFEST_DIR"));
    let mut sources = SourceMap::new();
    let id = sources.add(name, std::fs::read_to_string(path).unwrap());
    let set = vec![("A".to_string(), Setting::Number(size))];
    let (loaded, diagnostics) = vpl::load(&sources, id, &Options { set });
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}")).0
}

/// The sizes after merging 2, 3, ... processes and reducing.
fn sizes(system: &System<'_>, reducers: &[Reducer], upto: usize) -> Vec<(usize, usize)> {
    let mut graph: Graph = graphs::base(system, 0).unwrap();
    let mut sizes = Vec::new();
    for process in 1..upto {
        graph = graphs::merge(system, &graph, &graphs::base(system, process).unwrap()).unwrap();
        for reducer in reducers {
            graph = reducer.apply(system, &graph).unwrap();
        }
        sizes.push((graph.node_count(), graph.arc_count()));
    }
    sizes
}

#[test]
fn fischer_row_b() {
    let model = load("fischer", 11);
    let system = System::new(&model).unwrap();
    let found = sizes(&system, &[Reducer::ReadWrite, Reducer::ShieldClock], 4);
    assert_eq!(found, [(31, 70), (184, 594), (1033, 4316)]);
}

#[test]
fn fischer_row_d() {
    let model = load("fischer", 11);
    let system = System::new(&model).unwrap();
    let found = sizes(&system, &[Reducer::ReadWrite, Reducer::ShieldClock, Reducer::Symmetry], 8);
    assert_eq!(found, [(16, 35), (39, 109), (76, 247), (130, 472), (204, 810), (301, 1290), (424, 1944)]);
}

#[test]
fn untimed_ring() {
    let model = load("ring_untimed", 7);
    let system = System::new(&model).unwrap();
    let found = sizes(&system, &[Reducer::ReadWrite], 7);
    let expected =
        (2..7).map(|n: u32| (4 * 3_usize.pow(n - 1), 4 * 3_usize.pow(n - 2) * (2 * n as usize + 1)));
    assert_eq!(found, expected.chain([(14, 14)]).collect::<Vec<_>>());
    for (n, size) in [(2, (12, 24)), (4, (108, 552)), (7, (9, 9))] {
        let mut graph = graphs::base(&system, 0).unwrap();
        for process in 1..n {
            graph = graphs::merge(&system, &graph, &graphs::base(&system, process).unwrap()).unwrap();
            graph = graphs::read_write(&system, &graph).unwrap();
        }
        let graph = graphs::bypass_internal_transition(&system, &graph).unwrap();
        assert_eq!((graph.node_count(), graph.arc_count()), size);
    }
}
