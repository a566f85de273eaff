//! Least squares by the normal equations: finds the coefficients of a sum that come nearest to the
//! measured values. Columns are first scaled to the same size, because requests and bytes differ by
//! orders of magnitude.

/// A smaller pivot means that the column is a combination of the others.
const SINGULAR: f64 = 1e-10;

/// The coefficients that minimise the weighted squares of `rows` times coefficients minus `values`.
/// None if the columns depend on each other.
pub(super) fn solve(rows: &[Vec<f64>], values: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
    let width = rows.first()?.len();
    let weighted = || rows.iter().zip(weights);
    let scales: Vec<f64> = (0..width)
        .map(|column| {
            weighted().map(|(row, weight)| (row[column] * weight).powi(2)).sum::<f64>().sqrt()
        })
        .collect();
    if scales.iter().any(|scale| *scale <= 0.0) {
        return None;
    }
    let mut system = vec![vec![0.0; width + 1]; width];
    for ((row, weight), value) in weighted().zip(values) {
        let cells: Vec<f64> =
            row.iter().zip(&scales).map(|(cell, scale)| cell * weight / scale).collect();
        for (line, one) in system.iter_mut().zip(&cells) {
            for (cell, other) in line.iter_mut().zip(&cells) {
                *cell += one * other;
            }
            line[width] += one * value * weight;
        }
    }
    let solved = eliminate(system)?;
    Some(solved.iter().zip(&scales).map(|(value, scale)| value / scale).collect())
}

/// Gauss-Jordan elimination with the largest pivot in each column.
fn eliminate(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let width = system.len();
    for column in 0..width {
        let largest = (column..width).max_by(|&one, &other| {
            system[one][column].abs().total_cmp(&system[other][column].abs())
        })?;
        if system[largest][column].abs() < SINGULAR {
            return None;
        }
        system.swap(column, largest);
        let pivot = system[column].clone();
        for (place, line) in system.iter_mut().enumerate() {
            // In this column, the line of the pivot gets a one, and all other lines get a zero.
            let wanted = if place == column { 1.0 } else { 0.0 };
            let factor = (line[column] - wanted) / pivot[column];
            for (cell, own) in line.iter_mut().zip(&pivot) {
                *cell -= factor * own;
            }
        }
    }
    Some(system.iter().map(|line| line[width]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_again() {
        let mut rows = Vec::new();
        let mut values = Vec::new();
        for requests in [100.0, 500.0, 5000.0] {
            for size in [150.0, 600.0] {
                rows.push(vec![1.0, requests, requests * size]);
                values.push(7.0 + 0.5 * requests + 0.001 * requests * size);
            }
        }
        let weights: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
        let found = solve(&rows, &values, &weights).expect("the rows tell the columns apart");
        for (found, wanted) in found.iter().zip([7.0, 0.5, 0.001]) {
            assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
        }
    }

    #[test]
    fn columns_that_repeat_are_told() {
        let rows = vec![vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        assert_eq!(solve(&rows, &[1.0, 2.0, 3.0], &[1.0; 3]), None);
        assert_eq!(solve(&[], &[], &[]), None);
    }
}
