//! Find papers and their items by name.

use flysch_names::UnknownName;

use super::PAPERS;
use super::paper::Paper;

/// Other names of papers: 001 and 002 have the same text.
const ALIASES: [(&str, &str); 1] = [("001", "002")];

/// A paper, and the names of the chosen items in the order of the paper.
pub type Selection = (&'static Paper, Vec<&'static str>);

/// The papers of this name, each with the chosen items. `all` stands for all papers that have
/// experiments. Without items, all items of a paper are chosen.
///
/// # Errors
/// Returns the first name that is not known.
pub fn choose(paper: &str, items: &[String]) -> Result<Vec<Selection>, UnknownName> {
    let alias = ALIASES.into_iter().find(|(alias, _)| *alias == paper);
    let papers: Vec<&'static Paper> = match alias.map_or(paper, |(_, number)| number) {
        "all" => PAPERS.into_iter().filter(|paper| !paper.experiments.is_empty()).collect(),
        number => PAPERS.into_iter().filter(|paper| paper.number == number).collect(),
    };
    if papers.is_empty() {
        let known: Vec<&str> = PAPERS.iter().map(|paper| paper.number).chain(["all"]).collect();
        return Err(UnknownName::new("paper", paper, known));
    }
    let known: Vec<&str> =
        papers.iter().flat_map(|paper| paper.items.iter().map(|item| item.name)).collect();
    if let Some(item) = items.iter().find(|item| !known.contains(&item.as_str())) {
        return Err(UnknownName::new("item", item, known));
    }
    let is_asked = |name: &str| items.is_empty() || items.iter().any(|item| item == name);
    let selected = papers.into_iter().map(|paper| {
        let names = paper.items.iter().map(|item| item.name);
        (paper, names.filter(|name| is_asked(name)).collect::<Vec<_>>())
    });
    Ok(selected.filter(|(_, names)| !names.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_or_the_nearest_is_told() {
        let of = |paper: &str, items: &[&str]| {
            let items: Vec<String> = items.iter().map(|&item| item.to_owned()).collect();
            choose(paper, &items).map(|selected| {
                selected.into_iter().map(|(paper, items)| (paper.number, items)).collect::<Vec<_>>()
            })
        };
        let one = of("000", &["figure-4", "table-1"]).expect("both are known");
        assert_eq!(one, [("000", vec!["table-1", "figure-4"])]);
        assert_eq!(of("001", &[]), of("002", &[]));
        assert!(of("all", &[]).expect("there are papers").len() > 1 || PAPERS.len() > 1);
        let paper = of("00", &[]).expect_err("no paper").to_string();
        assert!(paper.starts_with("unknown paper '00'"), "{paper}");
        let item = of("000", &["figur-4"]).expect_err("no item").to_string();
        assert!(item.contains("did you mean 'figure-4'?"), "{item}");
    }

    #[test]
    fn names_are_told_apart_and_experiments_measure_known_items() {
        for paper in PAPERS {
            let names: Vec<&str> = paper.items.iter().map(|item| item.name).collect();
            for (place, name) in names.iter().enumerate() {
                assert!(!names[..place].contains(name), "{}: {name} twice", paper.number);
                let measured = paper.experiments.iter().any(|it| it.items.contains(name));
                assert!(measured, "{}: nothing measures {name}", paper.number);
            }
            for item in paper.experiments.iter().flat_map(|it| it.items) {
                assert!(names.contains(item), "{}: no item {item}", paper.number);
            }
        }
    }
}
