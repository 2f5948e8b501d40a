use shoal_model::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let mut sources = shoal_syntax::SourceMap::new();
    let id = sources.add(args[1].clone(), text);
    let any: Vec<String> = args[2].split(',').filter(|it| !it.is_empty()).map(String::from).collect();
    let options = shoal_murphi::Options { any: any.clone(), ..Default::default() };
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    let Some(model) = model else { eprintln!("{diagnostics:?}"); return };
    let ks: Vec<usize> = args[3].split(',').map(|it| it.parse().unwrap()).collect();
    let mut at = 0;
    let elements = model.sorts.iter().map(|sort| if sort.size == SortSize::Any { let k = ks[at]; at += 1; k } else { 0 }).collect();
    let config = shoal_views::Config { elements, bits: args[4] == "1", more: args.get(5).map_or(3, |it| it.parse().unwrap()) };
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = shoal_views::Budget { runs: u64::MAX, stop: &mut stop };
    match shoal_views::abstraction(&model, &asked, &config, &mut budget) {
        Ok(found) => {
            println!("{} views, {} runs", found.views, found.runs);
            for p in found.proved { println!("  proved {:?}", model.properties[p].name) }
            for (p, why) in found.failed { println!("  NOT {:?}: {}", model.properties[p].name, &why[..why.len().min(400)]) }
        }
        Err(why) => println!("{why:?}"),
    }
}
