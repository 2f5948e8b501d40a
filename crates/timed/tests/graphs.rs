//! The paper's counts.

use shoal_model::Model;
use shoal_syntax::SourceMap;
use shoal_template::{Options, Setting, vpl};
use shoal_timed::{
    graphs::{self, Graph, Reducer},
    sequence,
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

/// What 2, 3 and 4 processes predict for more: close to what there is, and the row that is known to be the best is chosen.
#[test]
fn sizes_are_predicted() {
    let model = load("fischer", 11);
    let system = System::new(&model).unwrap();
    let best = sequence::best(&system).unwrap();
    assert_eq!(best.sizes, [16 + 35, 39 + 109, 76 + 247], "{best:?}");
    let close = |processes: usize, size: f64| (best.predicted(processes) - size.log2()).abs() < 0.1;
    assert!(close(6, 204.0 + 810.0) && close(8, 424.0 + 1944.0), "{}", best.predicted(8));
}

/// The paper's measure, with its comparison put right, ends in a sequence that no neighbour betters.
#[test]
fn the_search_of_the_paper() {
    let model = load("small_mutex", 8);
    let system = System::new(&model).unwrap();
    let (paper, best) = (sequence::paper(&system).unwrap(), sequence::best(&system).unwrap());
    assert!(paper.slowing() <= 1.0 && !paper.reducers.is_empty(), "{paper:?}");
    assert!(best.predicted(8) <= paper.predicted(8) + 1e-9, "{best:?} {paper:?}");
}

/// A ring in which the token goes to the one after the next: neighbours of the ring are merged first.
#[test]
fn neighbours_are_merged_first() {
    let text = "
        automata A : i = 1..7;
        register t[1..total(A)];
        automaton A[i] {
          initially Idle and t[1] = 1;
          mode Idle { when t[i] = 1 may goto Busy; }
          mode Busy { when True may goto Idle; t[i] := 0; t[(i + 1) % total(A) + 1] := 1; }
        }
        verify all_paths ( henceforth not {(mode(A[1]) = Busy) and (mode(A[3]) = Busy)} );
    ";
    let mut sources = SourceMap::new();
    let id = sources.add("ring.vpl", text);
    let (loaded, diagnostics) = vpl::load(&sources, id, &Options::default());
    let model = loaded.unwrap_or_else(|| panic!("{diagnostics:?}")).0;
    let system = System::new(&model).unwrap();
    let best = sequence::best(&system).unwrap();
    assert_eq!(best.order[..3], [0, 2, 4], "{best:?}");
    let graph = sequence::fold_in(&system, &best.order, &best.reducers, &mut |_, _| {}).unwrap();
    let property = model.properties.enumerate().last().unwrap().0;
    assert_eq!(graphs::check(&system, &graph, property).unwrap(), graphs::Answer::Holds);
}
