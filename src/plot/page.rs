//! A self-contained HTML page: no scripts, nothing to load. All text is escaped.

use std::fmt::{Arguments, Write};

use super::canvas::{escaped, shortened};

/// Longest text of a cell, an item or a paragraph (characters).
const LONGEST: usize = 400;

/// The style of the page, with colors for light and dark.
const STYLE: &str = include_str!("page.css");

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
