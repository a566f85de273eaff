//! Table 1, Fig. 12 and section 5.1: what the text states about the closed forms.

use flysch_models::bitmap::{self, bitmaps};
use flysch_models::bloom::false_positive_rate;
use flysch_models::figure::{CHARTS, Chart};
use flysch_models::method::{Method, Parameters};
use flysch_models::pbfilter::{PbFilter, SummaryPages, Tuning};
use flysch_models::queries::updated;
use flysch_models::reading::Reading;
use flysch_models::setting::Setting;

use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::{Cause, Evidence, Trial};

/// Table 1 as printed: bits for each key, then the false-positive rates for three and more hash
/// functions.
const TABLE_1: [(f64, &[f64]); 3] = [
    (8.0, &[0.0306, 0.024, 0.0217, 0.0216, 0.0229]),
    (12.0, &[0.0108, 0.0065, 0.0046, 0.0037, 0.0033, 0.0031]),
    (16.0, &[0.005, 0.0024, 0.0014, 0.0009, 0.0007, 0.0006]),
];

/// Judge the claims of the text on the closed forms.
pub(super) fn judge(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut claims = vec![table_1()];
    claims.extend(figure_12()?);
    claims.extend(section_5_1());
    let figures = CHARTS.iter().map(Chart::figure);
    let figures = figures.collect::<Result<Vec<_>, _>>()?;
    (trial.done)(STEPS);
    Ok(Evidence { claims, figures, ..Evidence::default() })
}

pub(super) const STEPS: u64 = 5;

/// A claim on the greatest deviation from the printed values, in units of their last digit.
fn table_1() -> Claim {
    let mut worst = 0.0_f64;
    for (bits, stated) in TABLE_1 {
        for (hash_count, &value) in (3..).zip(stated) {
            let rate = (false_positive_rate(bits, hash_count) * 1e4).round();
            worst = worst.max((rate - (value * 1e4).round()).abs());
        }
    }
    let text = "17 false positive rates, greatest deviation in the fourth decimal";
    Claim::new("table-1", text, Target::Value(0.0), worst, Band::STATEMENT)
}

fn figure_12() -> Result<Vec<Claim>, Cause> {
    let million = Parameters::published(1_000_000);
    let costs = |method: Method, parameters: Parameters| {
        method.column(&parameters).map(|column| column.costs)
    };
    let pbfilter = costs(Method::PbFilter, million)?;
    let longer = costs(Method::Bftl2, Parameters { list_max: 30, ..million })?;
    let index = PbFilter::new(million.setting, million.tuning, SummaryPages::ByKeys);
    let dense = Tuning { bits_per_key: 24, hash_count: 4, ..Tuning::PUBLISHED };
    let five = Setting::published(5_000_000);
    let dense = Parameters { setting: five, tuning: dense, ..million };
    let updated = updated(1_000_000, 1_000_000, Reading::FITTED, false).total();
    let rows = [
        ("R of PBF, N = 1 M", 10.0, pbfilter.r_pages),
        ("R of PBF after 100 % of updates", 22.0, updated),
        ("RAM of PBF, KB", 14.0, pbfilter.ram_kb),
        ("R of BFTL2, C = 30", 105.0, longer.r_pages),
        ("RAM of BFTL2, C = 30, KB", 2728.0, longer.ram_kb),
        ("N from which BFTL2 reads less", 2.5e6, crossing()?),
    ];
    let mut claims: Vec<Claim> = rows
        .into_iter()
        .map(|(text, stated, value)| {
            Claim::new("figure-12", text, Target::Value(stated), value, Band::SHARE)
        })
        .collect();
    let large = costs(Method::PbFilter, dense)?.r_pages;
    let honest = costs(Method::PbFilter, Parameters { reading: Reading::CONSISTENT, ..dense })?;
    claims.push(Claim {
        note: format!(
            "Only by the fitted reading, which takes two different numbers of keys for a filter at \
             once; the consistent one gives {:.1}.",
            honest.r_pages
        ),
        ..Claim::new(
            "figure-12",
            "R of PBF, N = 5 M, d = 24, k = 4",
            Target::Value(9.0),
            large,
            Band::SHARE,
        )
    });
    claims.push(Claim {
        reason: "One digit is printed.",
        ..Claim::new(
            "figure-12",
            "SKA's size against KA's",
            Target::Value(0.1),
            index.summary_share(),
            Band::SHARE,
        )
    });
    Ok(claims)
}

/// The smallest number of keys, in steps of 10,000, at which a lookup costs more in `PBFilter` than
/// in BFTL2.
fn crossing() -> Result<f64, Cause> {
    for keys in (1_000_000..=7_000_000).step_by(10_000) {
        let parameters = Parameters::published(keys);
        let reads = |method: Method| method.column(&parameters).map(|column| column.costs.r_pages);
        if reads(Method::PbFilter)? > reads(Method::Bftl2)? {
            return Ok(f64::from(keys));
        }
    }
    Ok(f64::NAN)
}

fn section_5_1() -> Vec<Claim> {
    let stated = [[16_000.0, 1.3, 83.0], [512.0, 7.7, 493.0], [1920.0, 3.1, 198.0]];
    let mut claims = Vec::new();
    for ((name, bases), stated) in bitmap::PUBLISHED.into_iter().zip(stated) {
        let index = bitmaps(1 << 20, 2048, bases);
        let found =
            [("pages", index.pages), ("bitmaps scanned", index.scans), ("pages read", index.read)];
        for ((what, value), stated) in found.into_iter().zip(stated) {
            let text = format!("{name}: {what}");
            claims.push(Claim::new("section-5-1", text, Target::Value(stated), value, Band::SHARE));
        }
    }
    claims
}
