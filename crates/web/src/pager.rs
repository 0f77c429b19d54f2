//! Pages of a list.

use crate::display;

/// Where a page of a list is, and which others there are.
#[derive(Debug, Clone)]
pub(crate) struct Pager {
    /// From 1.
    page: usize,
    per_page: usize,
    total: u64,
    /// Path and query, to which the page is added.
    href: String,
}

impl Pager {
    /// The page that `asked` names, or the first, or the last: never one outside (P-40).
    pub(crate) fn new(asked: Option<&str>, per_page: usize, total: u64, href: impl Into<String>) -> Self {
        let last = (total.max(1)).div_ceil(per_page as u64) as usize;
        // What is no number, or too large for one, is taken for the nearest that there is.
        let asked = asked.unwrap_or("1").trim();
        let page = asked.parse().unwrap_or_else(|_| {
            let all_digits = !asked.is_empty() && asked.bytes().all(|b| b.is_ascii_digit());
            if all_digits { last } else { 1 }
        });
        Self { page: page.clamp(1, last), per_page, total, href: href.into() }
    }

    /// How many entries come before this page.
    pub(crate) fn skip(&self) -> usize {
        (self.page - 1) * self.per_page
    }

    pub(crate) fn total(&self) -> String {
        display::number(self.total)
    }

    /// From 1.
    pub(crate) fn page(&self) -> usize {
        self.page
    }

    pub(crate) fn is_first(&self) -> bool {
        self.page == 1
    }

    /// `1 to 25 of 1,204`.
    pub(crate) fn shown(&self) -> String {
        if self.total == 0 {
            return "none".to_owned();
        }
        let last = (self.skip() + self.per_page).min(self.total as usize);
        format!(
            "{} to {} of {}",
            display::number(self.skip() as u64 + 1),
            display::number(last as u64),
            display::number(self.total)
        )
    }

    pub(crate) fn previous(&self) -> Option<String> {
        (self.page > 1).then(|| self.to(self.page - 1))
    }

    pub(crate) fn next(&self) -> Option<String> {
        ((self.page * self.per_page) < self.total as usize).then(|| self.to(self.page + 1))
    }

    /// This page again.
    pub(crate) fn here(&self) -> String {
        self.to(self.page)
    }

    fn to(&self, page: usize) -> String {
        let sign = if self.href.contains('?') { '&' } else { '?' };
        format!("{}{sign}page={page}", self.href)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_never_outside_of_the_list_p_40() {
        let skip = |asked, total| Pager::new(Some(asked), 25, total, "/x").skip();
        for (asked, total, expected) in [
            ("1", 0, 0),
            ("2", 100, 25),
            ("-1", 100, 0),
            ("0", 100, 0),
            ("x", 100, 0),
            ("9", 100, 75),
            ("99999999999999999999999999", 100, 75),
        ] {
            assert_eq!(skip(asked, total), expected, "{asked} of {total}");
        }
    }

    #[test]
    fn a_pager_leads_to_its_neighbours() {
        let pager = Pager::new(Some("2"), 25, 60, "/jobs?q=a");
        assert_eq!(pager.shown(), "26 to 50 of 60");
        assert_eq!(pager.previous().as_deref(), Some("/jobs?q=a&page=1"));
        assert_eq!(pager.next().as_deref(), Some("/jobs?q=a&page=3"));
        assert_eq!(Pager::new(Some("3"), 25, 60, "/jobs").next(), None);
    }
}
