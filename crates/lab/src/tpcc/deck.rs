//! Which transaction comes next: the deck of cards of clause 5.2.4.2.

use super::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Name in traces and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }

    /// How many of the 23 cards of a deck are of this kind. It is the smallest deck that keeps
    /// every minimum of clause 5.2.3 (43 % of payments, 4 % of each of the last three kinds).
    const fn cards(self) -> usize {
        match self {
            Self::NewOrder | Self::Payment => 10,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 1,
        }
    }
}

/// Cards that are drawn one by one. Once the deck is empty, a new one is shuffled.
#[derive(Clone, Debug, Default)]
pub struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    /// Draw a card.
    ///
    /// # Panics
    /// Never: a new deck has cards.
    pub fn draw(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            let cards = |kind: Kind| std::iter::repeat_n(kind, kind.cards());
            self.left = Kind::ALL.into_iter().flat_map(cards).collect();
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
        assert_eq!(Kind::ALL.map(share), [1000, 1000, 100, 100, 100]);
        assert_ne!(drawn[..23], drawn[23..46], "decks are shuffled");
    }
}
