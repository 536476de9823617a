//! A self-contained HTML page: no scripts, nothing to load. All text is escaped.

use std::fmt::{Arguments, Write};

use super::canvas::{escaped, shortened};

/// Longest text of a cell, an item or a paragraph (characters).
const LONGEST: usize = 400;

/// The style of the page, with colors for light and dark.
const STYLE: &str = "\
:root{color-scheme:light dark}*{box-sizing:border-box}\
body{margin:0;background:#f3f5f8;color:#1c2430;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
main{max-width:1000px;margin:0 auto;padding:16px}h1{font-size:24px;line-height:1.25;margin:8px 0}\
h2{font-size:18px;margin:32px 0 8px}h3{font-size:15px;margin:16px 0 4px}p{margin:4px 0 12px;max-width:70ch}\
h1,h2,h3,p,li,td,th,dd{overflow-wrap:anywhere}.m{color:#5a6472}\
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px;margin:16px 0}\
.tiles div,figure,.card{background:#fff;border-radius:8px}.tiles div{padding:10px 14px}.tiles dt{color:#5a6472;font-size:13px}\
.tiles dd{margin:0;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}dl{margin:0}\
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:16px;align-items:start}\
figure{margin:0;overflow:hidden}figure svg{display:block;width:100%;max-width:560px;margin:0 auto}section>h3:first-child{margin-top:4px}.card{padding:8px 14px;overflow-x:auto}\
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th{font-size:13px;font-weight:500;color:#5a6472}td,th{padding:3px 10px 3px 0;text-align:left;vertical-align:top;\
border-bottom:1px solid #e4e8ee}.r{text-align:right;white-space:nowrap}tr:last-child td{border-bottom:0}li{margin:4px 0}\
@media(prefers-color-scheme:dark){body{background:#0c0f14;color:#e6e9ef}.m,.tiles dt,th{color:#a6afbd}\
.tiles div,figure,.card{background:#14181f}td,th{border-color:#2a313c}}";

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Text,
    /// At the right.
    Number,
}

/// A page that grows.
#[derive(Debug, Default)]
pub struct Page {
    body: String,
}

impl Page {
    pub fn finish(self, title: &str) -> String {
        let title = text(title);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\
             <link rel=\"icon\" href=\"data:,\"/><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><main>\n{}</main></body></html>\n",
            self.body
        )
    }

    fn put(&mut self, text: Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(text);
    }

    /// A heading of level 1 to 3.
    pub fn heading(&mut self, level: u8, title: &str) {
        self.put(format_args!("<h{level}>{}</h{level}>\n", text(title)));
    }

    pub fn paragraph(&mut self, content: &str) {
        self.put(format_args!("<p class=\"m\">{}</p>\n", text(content)));
    }

    pub fn list(&mut self, items: &[String]) {
        self.body += "<ul class=\"card\" style=\"padding-left:32px\">";
        for item in items {
            self.put(format_args!("<li>{}</li>\n", text(item)));
        }
        self.body += "</ul>\n";
    }

    /// Names, each with a number in large type.
    pub fn tiles(&mut self, tiles: &[(String, String)]) {
        self.body += "<dl class=\"tiles\">\n";
        for (name, value) in tiles {
            self.put(format_args!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(name), text(value)));
        }
        self.body += "</dl>\n";
    }

    /// A plot in SVG.
    pub fn figure(&mut self, plot: &str) {
        self.put(format_args!("<figure>{plot}</figure>\n"));
    }

    /// Plots side by side.
    pub fn figures(&mut self, plots: &[String]) {
        let cell = |plot: &String| {
            let mut cell = Self::default();
            cell.figure(plot);
            cell
        };
        self.side_by_side(&plots.iter().map(cell).collect::<Vec<_>>());
    }

    /// Parts of the page side by side, or below each other if the page is narrow.
    pub fn side_by_side(&mut self, parts: &[Self]) {
        self.body += "<div class=\"grid\">\n";
        for part in parts {
            self.put(format_args!("<section>{}</section>\n", part.body));
        }
        self.body += "</div>\n";
    }

    /// A table. If the column names are empty, it has no header.
    pub fn table(&mut self, columns: &[(&str, Align)], rows: &[Vec<String>]) {
        let class = |align: Align| if align == Align::Number { " class=\"r\"" } else { "" };
        self.body += "<div class=\"card\"><table>";
        if columns.iter().any(|(name, _)| !name.is_empty()) {
            self.body += "<thead><tr>";
            for (name, align) in columns {
                self.put(format_args!("<th scope=\"col\"{}>{}</th>", class(*align), text(name)));
            }
            self.body += "</tr></thead>";
        }
        self.body += "<tbody>\n";
        for row in rows {
            self.body += "<tr>";
            for (cell, (_, align)) in row.iter().zip(columns) {
                self.put(format_args!("<td{}>{}</td>", class(*align), text(cell)));
            }
            self.body += "</tr>\n";
        }
        self.body += "</tbody></table></div>\n";
    }
}

fn text(content: &str) -> String {
    escaped(&shortened(content, LONGEST))
}
