//! How far back a chart of days goes.

/// The choices of the charts on Overview and History (WEBO-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DaysBack {
    Week,
    #[default]
    Month,
    ThreeMonths,
    SixMonths,
}

impl DaysBack {
    pub(crate) const ALL: [Self; 4] = [Self::Week, Self::Month, Self::ThreeMonths, Self::SixMonths];

    /// What is unknown is a month.
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|one| Some(one.name()) == name).unwrap_or_default()
    }

    /// As it stands in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Week => "week",
            Self::Month => "month",
            Self::ThreeMonths => "3months",
            Self::SixMonths => "6months",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Week => "Week",
            Self::Month => "Month",
            Self::ThreeMonths => "3 Months",
            Self::SixMonths => "6 Months",
        }
    }

    pub(crate) fn count(self) -> u64 {
        match self {
            Self::Week => 7,
            Self::Month => 30,
            Self::ThreeMonths => 90,
            Self::SixMonths => 182,
        }
    }
}
