//! The index methods that section 6 compares, by name.

use flysch_names::named;
use serde::Serialize;
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::pbfilter::{PbFilter, SummaryPages, Tuning};
use super::reading::{self, Reading};
use super::setting::Setting;
use super::tree::{self, Tree};
use super::{Costs, ModelError, skimpystash};

/// An index method that the paper compares (section 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Method {
    /// `BTree` in the paper: a B+tree on a flash translation layer.
    BTree,
    /// `BFTL1` in the paper: BFTL without compaction.
    Bftl1,
    /// `BFTL2` in the paper: BFTL with compaction.
    Bftl2,
    /// `SStash` in the paper.
    SkimpyStash,
    /// `PBF` or `PBF1` in the paper.
    PbFilter,
    /// `PBF2` in the paper: `PBFilter` with a larger flash buffer.
    PbFilter2,
}

named!(Method, "method");

/// The parameters of all methods (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// N, Sk and the constants.
    pub setting: Setting,
    /// d, k and the other parameters of PBF. PBF2 has four times the initial partitions, and a
    /// buffer for each.
    pub tuning: Tuning,
    /// C: the greatest length of a node translation list in BFTL2.
    pub list_max: u32,
    /// kss: records in a bucket of `SkimpyStash`.
    pub chain_len: u32,
    /// Which interpretation of the paper's formula of R for PBF is used.
    pub reading: Reading,
}

impl Parameters {
    /// The parameters of section 6.1.3, for a number of records.
    pub const fn published(keys: u32) -> Self {
        Self {
            setting: Setting::published(keys),
            tuning: Tuning::PUBLISHED,
            list_max: 5,
            chain_len: 8,
            reading: Reading::FITTED,
        }
    }

    /// Check that the models can handle these parameters.
    pub fn check(&self) -> Result<(), ModelError> {
        self.setting.check()?;
        self.tuning.check(&self.setting)?;
        super::error::check_bounds(&[
            ("pages of a list (C)", self.list_max, 2, 1 << 16),
            ("records of a bucket (kss)", self.chain_len, 1, 1 << 16),
        ])
    }

    /// The parameters of PBF2: four times the initial partitions of PBF. `check` makes sure that
    /// the filters have enough bits for them.
    fn wider(&self) -> Tuning {
        let added = 3 * self.tuning.partitions;
        Tuning {
            partitions: self.tuning.partitions + added,
            buffers: self.tuning.buffers + added,
            ..self.tuning
        }
    }
}

/// The column of a method in Tables 4 and 5.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Name of the method.
    pub method: &'static str,
    /// N: number of records.
    pub n: u32,
    /// Sk: size of a key in bytes.
    pub key_size: u32,
    /// Sp: size of a page in bytes.
    pub page_size: u32,
    /// The costs of Table 5.
    #[serde(flatten)]
    pub costs: Costs,
    /// The variables of Table 4, under the paper's symbols.
    pub variables: Value,
}

impl Method {
    /// Compute the column of this method.
    pub fn column(self, parameters: &Parameters) -> Result<Column, ModelError> {
        parameters.check()?;
        let Parameters { setting, tuning, .. } = *parameters;
        let (costs, variables) = match self {
            Self::BTree => tree_column(parameters, tree::Method::BTree),
            Self::Bftl1 => tree_column(parameters, tree::Method::Unbounded),
            Self::Bftl2 => tree_column(parameters, tree::Method::Compacted(parameters.list_max)),
            Self::SkimpyStash => (
                skimpystash::costs(&setting, parameters.chain_len),
                Value::Object([].into_iter().collect()),
            ),
            Self::PbFilter => pbfilter_column(parameters, tuning)?,
            Self::PbFilter2 => pbfilter_column(parameters, parameters.wider())?,
        };
        let Setting { keys, key_size, page_size, .. } = setting;
        Ok(Column { method: self.name(), n: keys, key_size, page_size, costs, variables })
    }
}

fn tree_column(parameters: &Parameters, method: tree::Method) -> (Costs, Value) {
    let tree = Tree::new(parameters.setting, method, parameters.tuning.buffers);
    (tree.costs(), fields(&tree))
}

fn pbfilter_column(parameters: &Parameters, tuning: Tuning) -> Result<(Costs, Value), ModelError> {
    tuning.check(&parameters.setting)?;
    let index = PbFilter::new(parameters.setting, tuning, SummaryPages::ByKeys);
    let mut variables = fields(&index);
    if let (Value::Object(all), Value::Object(lookup)) =
        (&mut variables, fields(&parameters.reading.lookup(&index)))
    {
        all.extend(lookup);
    }
    Ok((reading::costs(&index, parameters.reading), variables))
}

fn fields(variables: &impl Serialize) -> Value {
    serde_json::to_value(variables).expect("numbers have JSON values")
}
