//! Entries of the sets, written and read.

use cogworker_core::time::EpochSeconds;

use crate::support::{Answer, Site};

pub(crate) fn job(class: &str, jid: &str) -> String {
    format!(
        r#"{{"class":"{class}","jid":"{jid}","queue":"mail","args":[1, "{jid}"],"retry":3,"retry_count":2,"created_at":1000.0,"enqueued_at":1100.0,"failed_at":1200.5,"error_class":"IOError","error_message":"broke after 7 s"}}"#
    )
}

pub(crate) fn add(site: &Site, set: &str, score: f64, raw: &str) {
    site.redis.cli(&["ZADD", &format!("cogworker:{set}"), &score.to_string(), raw]);
}

pub(crate) fn far() -> f64 {
    EpochSeconds::now().as_f64() + 5000.0
}

/// Every value of a hidden or ticked field `name`.
pub(crate) fn values(answer: &Answer, name: &str) -> Vec<String> {
    let marker = format!("name=\"{name}\" value=\"");
    let parts = answer.body.split(&*marker).skip(1);
    parts
        .filter_map(|part| part.split('"').next())
        .map(|text| text.replace("&#38;", "&").replace("&#34;", "\""))
        .collect()
}

pub(crate) fn rows(site: &Site, set: &str) -> Vec<String> {
    site.redis.cli(&["ZRANGE", &format!("cogworker:{set}"), "0", "-1"]).strings()
}
