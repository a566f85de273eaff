//! Chooses the next transaction from a shuffled deck of cards (clause 5.2.4.2).

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Kind {
    /// A customer orders 5 to 15 items.
    NewOrder,
    Payment,
    /// A customer asks for their last order.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// Items of recent orders whose stock is low are counted.
    StockLevel,
}

named!(Kind);

impl Kind {
    /// How many of the 23 cards of a deck are of this kind. It is the smallest deck that keeps
    /// every minimum of clause 5.2.3 (43 % of payments, 4 % of each of the last three kinds).
    const fn cards(self) -> usize {
        match self {
            Self::NewOrder | Self::Payment => 10,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 1,
        }
    }
}

/// A shuffled deck of kinds of transaction. When it is empty, a new one is shuffled.
#[derive(Clone, Debug, Default)]
pub struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    /// Draw the next card.
    ///
    /// # Panics
    /// Never: a new deck has cards.
    pub fn draw(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            let cards = |kind: Kind| std::iter::repeat_n(kind, kind.cards());
            self.left = Kind::ALL.iter().copied().flat_map(cards).collect();
            random.shuffle(&mut self.left);
        }
        self.left.pop().expect("a new deck has cards")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_keeps_the_mix_of_the_specification() {
        let mut random = Random::of_run(1);
        let mut deck = Deck::default();
        let drawn: Vec<Kind> = (0..2300).map(|_| deck.draw(&mut random)).collect();
        let share = |kind| drawn.iter().filter(|&&card| card == kind).count();
        let shares: Vec<_> = Kind::ALL.iter().copied().map(share).collect();
        assert_eq!(shares, [1000, 1000, 100, 100, 100]);
        assert_ne!(drawn[..23], drawn[23..46], "decks are shuffled");
    }
}
