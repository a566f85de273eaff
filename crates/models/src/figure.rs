//! The fourteen charts of Fig. 12 of the paper, drawn from the closed forms.

use flysch_charts::figure::{Figure, Panel, Scale, Series, Source};

use super::dump::{BITMAP_PAGES, BITS_PER_KEY, SELECTIVITIES, TABLE_PAGES, UPDATE_RATES, updates};
use super::method::{Column, Method, Parameters};
use super::pbfilter::Tuning;
use super::queries::{range_query, updated};
use super::reading::Reading;
use super::{Costs, ModelError};

/// A chart of Fig. 12.
pub struct Chart {
    /// Its letter in the paper.
    pub letter: char,
    /// What the chart shows.
    pub title: &'static str,
    panels: fn() -> Result<Vec<Panel>, ModelError>,
}

/// The item of the paper that the charts belong to.
const ITEM: &str = "figure-12";
/// Number of records in all charts that do not vary it.
const KEYS: u32 = 1_000_000;

/// All charts. Charts (a) to (e) compare the methods; from (f) on, each varies a parameter.
pub const CHARTS: [Chart; 14] = [
    Chart {
        letter: 'a',
        title: "R: page reads of a lookup",
        panels: || bars("page reads", |costs| costs.r_pages),
    },
    Chart {
        letter: 'b',
        title: "IR: page reads of insertions",
        panels: || bars("page reads", |costs| costs.ir_pages),
    },
    Chart {
        letter: 'c',
        title: "W: page writes of insertions",
        panels: || bars("page writes", |costs| costs.w_pages),
    },
    Chart { letter: 'd', title: "RAM consumption", panels: || bars("KB", |costs| costs.ram_kb) },
    Chart {
        letter: 'e',
        title: "VP and OP: valid and obsolete pages",
        panels: || {
            let valid = bars("valid pages", |costs| costs.vp_pages)?;
            Ok(valid.into_iter().chain(bars("obsolete pages", |costs| costs.op_pages)?).collect())
        },
    },
    Chart { letter: 'f', title: "Influence of C on BFTL2", panels: by_list_max },
    Chart {
        letter: 'g',
        title: "Influence of N on R",
        panels: || by_keys("page reads of a lookup", |costs| costs.r_pages),
    },
    Chart {
        letter: 'h',
        title: "Influence of N on W",
        panels: || by_keys("page writes of insertions", |costs| costs.w_pages),
    },
    Chart {
        letter: 'i',
        title: "Influence of N on RAM",
        panels: || by_keys("KB of RAM", |costs| costs.ram_kb),
    },
    Chart { letter: 'j', title: "Influence of the update rate on R", panels: || Ok(by_updates()) },
    Chart {
        letter: 'k',
        title: "Range queries on secondary keys",
        panels: || Ok(by_selectivity()),
    },
    Chart { letter: 'l', title: "Influence of d on R", panels: lookups_by_bits },
    Chart { letter: 'm', title: "Influence of d on W, VP and OP", panels: pages_by_bits },
    Chart { letter: 'n', title: "Influence of k on R", panels: by_hashes },
];

impl Chart {
    /// Draw the chart from the closed forms.
    pub fn figure(&self) -> Result<Figure, ModelError> {
        Ok(Figure {
            item: ITEM,
            name: format!("figure-12{}", self.letter),
            title: format!("({}) {}", self.letter, self.title),
            caption: "From the closed forms; the paper's own curves are not in its text."
                .to_owned(),
            panels: (self.panels)()?,
        })
    }
}

type Metric = fn(&Costs) -> f64;

fn column(method: Method, parameters: &Parameters) -> Result<Column, ModelError> {
    method.column(parameters)
}

fn bars(name: &str, metric: Metric) -> Result<Vec<Panel>, ModelError> {
    let mut bars = Vec::new();
    for &method in Method::ALL {
        let costs = column(method, &Parameters::published(KEYS))?.costs;
        bars.push((method.name().to_owned(), metric(&costs)));
    }
    Ok(vec![Panel {
        title: format!("{name}, one million records"),
        x: Scale::linear("method"),
        y: Scale::linear(name),
        series: vec![Series::bars("closed form", Source::Flysch, bars)],
    }])
}

/// A panel with one line for each metric of a method, over a parameter.
fn sweep(
    (x, title): (&str, &str),
    method: Method,
    all: &[(f64, Parameters)],
    metrics: &[(&str, Metric)],
) -> Result<Panel, ModelError> {
    let mut series = Vec::new();
    for (name, metric) in metrics {
        let mut points = Vec::new();
        for (place, parameters) in all {
            points.push((*place, metric(&column(method, parameters)?.costs)));
        }
        series.push(Series::line(*name, points));
    }
    Ok(Panel { title: title.to_owned(), x: Scale::linear(x), y: Scale::log("pages"), series })
}

fn by_list_max() -> Result<Vec<Panel>, ModelError> {
    let all: Vec<(f64, Parameters)> = (2..=50)
        .map(|list_max| {
            (f64::from(list_max), Parameters { list_max, ..Parameters::published(KEYS) })
        })
        .collect();
    let metrics: [(&str, Metric); 2] =
        [("W", |costs| costs.w_pages), ("VP", |costs| costs.vp_pages)];
    Ok(vec![sweep(("C", "BFTL2"), Method::Bftl2, &all, &metrics)?])
}

fn by_keys(name: &str, metric: Metric) -> Result<Vec<Panel>, ModelError> {
    let mut series = Vec::new();
    for method in [Method::Bftl1, Method::Bftl2, Method::PbFilter, Method::PbFilter2] {
        let mut points = Vec::new();
        for millions in 1..=7 {
            let parameters = Parameters::published(millions * 1_000_000);
            points.push((f64::from(millions), metric(&column(method, &parameters)?.costs)));
        }
        series.push(Series::line(method.name(), points));
    }
    Ok(vec![Panel {
        title: "by number of records".to_owned(),
        x: Scale::linear("millions of records"),
        y: Scale::log(name),
        series,
    }])
}

fn by_updates() -> Vec<Panel> {
    let points = UPDATE_RATES.map(|(_, rate)| {
        (rate * 100.0, updated(KEYS, updates(rate), Reading::FITTED, false).total())
    });
    vec![Panel {
        title: "one million valid records".to_owned(),
        x: Scale::linear("updates, % of records"),
        y: Scale::linear("page reads of a lookup"),
        series: vec![
            Series::line("pbfilter", points.to_vec()),
            Series::stated("pbfilter", vec![(0.0, 10.0), (100.0, 22.0)]),
        ],
    }]
}

fn by_selectivity() -> Vec<Panel> {
    let tuples = f64::from(KEYS);
    let queries = SELECTIVITIES.map(|(_, share)| {
        (share * 100.0, range_query(tuples, TABLE_PAGES, BITMAP_PAGES, share * tuples))
    });
    let line = |pages: fn(&super::queries::RangeQuery) -> f64| {
        queries.iter().map(|(share, query)| (*share, pages(query))).collect::<Vec<_>>()
    };
    vec![Panel {
        title: "256 values, one million tuples".to_owned(),
        x: Scale::log("selectivity, %"),
        y: Scale::log("page reads"),
        series: vec![
            Series::line("table scan", line(|query| query.scan)),
            Series::line("bitmap", line(|query| query.ideal + query.bitmaps)),
            Series::line("ideal", line(|query| query.ideal)),
        ],
    }]
}

fn by_bits() -> Vec<(f64, Parameters)> {
    let of = |bits_per_key| {
        let tuning = Tuning { bits_per_key, ..Tuning::PUBLISHED };
        (f64::from(bits_per_key), Parameters { tuning, ..Parameters::published(KEYS) })
    };
    BITS_PER_KEY.into_iter().map(of).collect()
}

fn lookups_by_bits() -> Result<Vec<Panel>, ModelError> {
    // This chart uses the consistent interpretation. The fitted one counts the bits of a filter
    // after rounding up to a power of two. So with it, 10 to 16 bits would all give the same value.
    let consistent = |(bits, parameters): (f64, Parameters)| {
        (bits, Parameters { reading: Reading::CONSISTENT, ..parameters })
    };
    let all: Vec<(f64, Parameters)> = by_bits().into_iter().map(consistent).collect();
    let metrics: [(&str, Metric); 1] = [("R", |costs| costs.r_pages)];
    Ok(vec![sweep(("d", "consistent reading"), Method::PbFilter, &all, &metrics)?])
}

fn pages_by_bits() -> Result<Vec<Panel>, ModelError> {
    let metrics: [(&str, Metric); 3] = [
        ("W", |costs| costs.w_pages),
        ("VP", |costs| costs.vp_pages),
        ("OP", |costs| costs.op_pages),
    ];
    Ok(vec![sweep(("d", "pages"), Method::PbFilter, &by_bits(), &metrics)?])
}

fn by_hashes() -> Result<Vec<Panel>, ModelError> {
    let all: Vec<(f64, Parameters)> = (1..=16)
        .map(|hash_count| {
            let tuning = Tuning { hash_count, ..Tuning::PUBLISHED };
            (f64::from(hash_count), Parameters { tuning, ..Parameters::published(KEYS) })
        })
        .collect();
    let metrics: [(&str, Metric); 1] = [("R", |costs| costs.r_pages)];
    Ok(vec![sweep(("k", "d = 16"), Method::PbFilter, &all, &metrics)?])
}
