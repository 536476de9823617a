use proptest::prelude::*;

use super::{Form, Outcome, Readings, Unread, two_numbers_in_sql};

fn outcome(texts: &[&str]) -> Outcome {
    let mut readings = Readings::default();
    texts.iter().for_each(|text| readings.add(text));
    readings.outcome(1.0)
}

/// The name of these texts' form, and their values.
fn read(texts: &[&str]) -> (String, Vec<f64>) {
    match outcome(texts) {
        Outcome::Form(form) => (form.name(), texts.iter().filter_map(|text| form.value(text)).collect()),
        other => panic!("{texts:?}: {other:?}"),
    }
}

fn reason(texts: &[&str]) -> (Unread, String) {
    match outcome(texts) {
        Outcome::Unread { kind, example, .. } => (kind, example),
        other => panic!("{texts:?}: {other:?}"),
    }
}

const DAY: f64 = 19_229.0; // 2022-08-25

#[test]
fn numbers_are_read_with_their_unit_and_marks() {
    let cases: &[(&[&str], &str, &[f64])] = &[
        (
            &["$5", "$1,234.50", "-$3", "$-4", "7", "1e3"],
            "number $ 1,234.56",
            &[5.0, 1234.5, -3.0, -4.0, 7.0, 1000.0],
        ),
        (&["12,50 €", "1.234,00 €"], "number 1.234,56 €", &[12.5, 1234.0]),
        (&["R$ 32,27", "R$5,00"], "number R$ 1234,56", &[32.27, 5.0]),
        (&["US$ 50", "US$ 7.5"], "number US$ 1234.56", &[50.0, 7.5]),
        (
            &["Rs. 1,23,456", "Rs. 12,34,567", "Rs. 50"],
            "number Rs. 1,234.56",
            &[123_456.0, 1_234_567.0, 50.0],
        ),
        (&["kr 100", "kr 20"], "number kr 1234.56", &[100.0, 20.0]),
        (&["CHF 1'250.50", "CHF 12.50"], "number CHF 1'234.56", &[1250.5, 12.5]),
        (&["120 zł", "9,99 zł"], "number 1234,56 zł", &[120.0, 9.99]),
        (&["($5.00)", "$6.00"], "number $ 1234.56", &[-5.0, 6.0]),
        (&["12 %", "12.5%", "-3 %"], "number 1234.56 %", &[12.0, 12.5, -3.0]),
        (&["\u{2212}65", "12.5", "+3"], "number 1234.56", &[-65.0, 12.5, 3.0]),
        (&["1\u{202f}234,5", "12\u{a0}345", "7"], "number 1 234,56", &[1234.5, 12345.0, 7.0]),
        (&["1,234,567", "1,234"], "number 1,234.56", &[1_234_567.0, 1234.0]),
        (&["1.234.567", "1.234"], "number 1.234,56", &[1_234_567.0, 1234.0]),
        (&["$.99", "$1"], "number $ 1234.56", &[0.99, 1.0]),
        (&["0.123", "1.234", "$0.5"], "number $ 1234.56", &[0.123, 1.234, 0.5]),
    ];
    for (texts, name, values) in cases {
        assert_eq!(read(texts), ((*name).to_owned(), values.to_vec()), "{texts:?}");
    }
}

#[test]
fn dates_are_days_since_1970() {
    let (half, hour) = (0.5, 1.0 / 24.0);
    let cases: &[(&[&str], &str, &[f64])] = &[
        (
            &["2022-08-25", "2022-08-25T12:00Z", "2022-08-25 12:00:00 UTC"],
            "date Y-m-d",
            &[DAY, DAY + half, DAY + half],
        ),
        (&["2022-08-25T12:00:00+02:00", "2022-08-25 12:00:00+0200"], "date Y-m-d", &[DAY + 10.0 * hour; 2]),
        (&["20220825T120000Z", "20220825T12"], "", &[]),
        (&["20220825T120000Z", "20220825T1200"], "date YmdT", &[DAY + half; 2]),
        (&["2022-W34", "2022-W01"], "date Y-WV", &[DAY - 3.0, 18_995.0]),
        (&["2022-W34-4"], "date Y-WV-u", &[DAY]),
        (&["2022-Q3", "2022-Q1"], "date Y-Qq", &[19_174.0, 18_993.0]),
        (
            &["Aug 25, 2022", "August 25, 2022", "Sept 1, 2022", "Jan. 1, 1970"],
            "date b d, Y",
            &[DAY, DAY, DAY + 7.0, 0.0],
        ),
        (&["25 Aug 2022", "25AUG2022", "25th August 2022"], "date d b Y", &[DAY; 3]),
        (&["25. August 2022", "1. März 2022"], "date d. b Y", &[DAY, 19_052.0]),
        (&["Thu, 25 Aug 2022 12:00:00 +0000 (UTC)", "25 Aug 2022 08:00 EDT"], "date d b Y", &[DAY + half; 2]),
        (&["12:00:00  25 Aug 2022"], "date T d b Y", &[DAY + half]),
        (&["Aug 25 2022 - 12:00pm", "Aug 25 2022 at 12:00"], "date b d Y", &[DAY + half; 2]),
        (&["2022, August", "1969, Dec"], "date Y, b", &[19_205.0, -31.0]),
        (&["Thu Aug 25 12:00:00 2022", "Thu Aug 25 12:00:00 +0000 2022"], "date b d T Y", &[DAY + half; 2]),
        (
            &["25-AUG-22", "01-JAN-70", "31-DEC-29", "01-JAN-30"],
            "date d-b-y",
            &[DAY, 0.0, 21_914.0, -14_610.0],
        ),
        (&["25/Aug/2022:12:00:00 +0000"], "date d/b/Y", &[DAY + half]),
        (&["2022年8月25日"], "date Y年m月d日", &[DAY]),
        (&["2022. 8. 25.", "2022. 12. 8."], "date Y.m.d.", &[DAY, DAY + 105.0]),
        (&["8/25/2022", "01/02/2022"], "date m/d/Y", &[DAY, 18_994.0]),
        (&["25/8/2022", "01/02/2022"], "date d/m/Y", &[DAY, 19_024.0]),
        (&["25.08.2022", "1.2.2022"], "date d.m.Y", &[DAY, 19_024.0]),
        (&["8/25/22 12:00 PM", "8/25/22 12:00 AM"], "date m/d/y", &[DAY + half, DAY]),
        (&["2021-11", "2022-01"], "date Y-m", &[18_932.0, 18_993.0]),
        (&["Aug 2022", "December 1969"], "date b Y", &[19_205.0, -31.0]),
    ];
    for (texts, name, values) in cases.iter().filter(|(_, name, _)| !name.is_empty()) {
        assert_eq!(read(texts), ((*name).to_owned(), values.to_vec()), "{texts:?}");
        assert!(Form::parse_name(name).is_some_and(|form| form.is_date()), "{name}");
    }
}

#[test]
fn durations_and_times_are_seconds() {
    let cases: &[(&[&str], &str, &[f64])] = &[
        (&["00:21:45", "1:00:00.5"], "duration h:mm:ss", &[1305.0, 3600.5]),
        (
            &["1 days 02:03:04", "1 day, 2:03:04", "-1 days +23:59:59", "0:00:12.5"],
            "duration h:mm:ss",
            &[93_784.0, 93_784.0, -1.0, 12.5],
        ),
        (&["21:45", "9:05"], "duration h:mm or m:ss", &[1305.0, 545.0]),
        (&["45:10", "1:02:03"], "duration [h:]mm:ss", &[2710.0, 3723.0]),
        (&["0:45:10", "1:30"], "duration h:mm[:ss]", &[2710.0, 5400.0]),
        (
            &["10:30 AM", "12:05 pm", "12 a.m.", "7:00PM EDT"],
            "time h:mm AM",
            &[37_800.0, 43_500.0, 0.0, 82_800.0],
        ),
        (&["1h 47m", "47m", "2 h", "12h30"], "duration 1h 47m", &[6420.0, 2820.0, 7200.0, 45_000.0]),
        (
            &["90 min", "2 hours, 5 minutes", "1 hour and 1 second"],
            "duration 1h 47m",
            &[5400.0, 7500.0, 3601.0],
        ),
        (&["PT1H47M", "P1DT2H", "PT30S"], "duration 1h 47m", &[6420.0, 93_600.0, 30.0]),
    ];
    for (texts, name, values) in cases {
        assert_eq!(read(texts), ((*name).to_owned(), values.to_vec()), "{texts:?}");
    }
}

#[test]
fn doubtful_texts_are_not_read_and_the_reason_has_an_example() {
    let cases: &[(&[&str], Unread, &str)] = &[
        (&["1,234", "5,678"], Unread::ThousandsOrDecimals, "1,234"),
        (&["1.299", "899"], Unread::ThousandsOrDecimals, "1.299"),
        (&["$1,234", "$899"], Unread::ThousandsOrDecimals, "$1,234"),
        (&["R +1.5", "D +12", "EVEN"], Unread::Words, "D +12"),
        (&["$5", "$7", "N/A"], Unread::Others, "N/A"),
        (&["1/2/2022", "3/4/2022"], Unread::OrderOfDate, "1/2/2022"),
        (&["25/08/22", "24/09/21"], Unread::OrderOfDate, "24/09/21"),
        (&["Aug-22", "Sep-21"], Unread::NoYear, "Aug-22"),
        (&["Aug 5", "Sep 9"], Unread::NoYear, "Aug 5"),
        (&["25:23", "19:25"], Unread::TimeOrScore, "19:25"),
        (&["10:30", "10:30:15"], Unread::PartsOfTime, "10:30"),
        (&["2010-11", "2011-12"], Unread::MonthOrSeason, "2010-11"),
        (&["2010-11", "2021-22"], Unread::MonthOrSeason, "2010-11"),
        (&["47m", "5m"], Unread::Letter, "5m"),
        (&["80s", "90s"], Unread::Letter, "80s"),
        (&["87.70K", "8.05M"], Unread::Magnitude, "8.05M"),
        (&["$5M", "$3.5B", "$7"], Unread::Magnitude, "$7"),
        (&["5 MB", "3 GB"], Unread::Magnitude, "3 GB"),
        (&["$5", "€5"], Unread::Currencies, "$5"),
        (&["5 kg", "300 g"], Unread::Units, "5 kg"),
        (&["5", "12%"], Unread::Units, "5"),
        (&["90 min", "2 Seasons"], Unread::Units, "90 min"),
        (&["5 kg", "6 kg"], Unread::Words, "5 kg"),
        (&["ca. 50", "ca. 7"], Unread::Words, "ca. 7"),
        (&["Price: 5.99", "Price: 12"], Unread::Words, "Price: 12"),
        (&["$007", "$012"], Unread::LeadingZeros, "$007"),
        (&["123 456", "654 321"], Unread::Code, "123 456"),
        (&["#12345", "#54321"], Unread::Code, "#12345"),
        (&["1.18.8", "3.4.3"], Unread::Marks, "3.4.3"),
        (&["v1.2.3", "v1.10.0"], Unread::Marks, "v1.2.3"),
        (&["(1,234.5)", "(5.2)"], Unread::Parentheses, "(5.2)"),
        (&["10-20", "5-10"], Unread::Several, "5-10"),
        (&["$10 - $20", "$5 - $7"], Unread::Several, "$5 - $7"),
        (&["1/8", "3/16"], Unread::Several, "1/8"),
        (&["5'11\"", "6'2\""], Unread::Several, "6'2\""),
        (&["4.5 out of 5", "3 out of 5"], Unread::Several, "3 out of 5"),
        (&["1920x1080", "1280x720"], Unread::Several, "1280x720"),
        (&["40.7, -74.0", "52.51, 13.4"], Unread::Several, "40.7, -74.0"),
        (&["52.51 103.4", "40 74.0"], Unread::Several, "40 74.0"),
        (&["POINT (13 52)", "POINT (-74.0 40.7)"], Unread::Several, "POINT (13 52)"),
        (&["SRID=4326;POINT(13.4 52.5)", "SRID=4326;POINT(7 50)"], Unread::Several, "SRID=4326;POINT(7 50)"),
        (
            &["LINESTRING (30 10, 10 30, 40 40)", "LINESTRING (3 1, 1 3, 4 4)"],
            Unread::Several,
            "LINESTRING (3 1, 1 3, 4 4)",
        ),
        (&["[0.5 2 7]", "[1 2 3]"], Unread::Several, "[1 2 3]"),
        (&["3X4", "5X10"], Unread::Several, "3X4"),
        (&["1; 2; 3; 4; 5", "1; -2; 3; 4; 15"], Unread::Several, "1; 2; 3; 4; 5"),
        (&["since: Aug 25, 2022", "since: May 7, 2021"], Unread::Words, "since: May 7, 2021"),
        (
            &["1 to 50 people", "51 to 200 people", "1000+ people", "10000+ people"],
            Unread::Several,
            "1 to 50 people",
        ),
        (&["115th", "102nd"], Unread::Units, "102nd"),
        (&["$5", "$7", "n/a"], Unread::Others, "n/a"),
        (&["2022-08-25", "2022-08-26", ""], Unread::Others, ""),
        (&["2022-08-25", "2022-08-26", "2022-02-30"], Unread::Others, "2022-02-30"),
    ];
    for (texts, kind, example) in cases {
        assert_eq!(reason(texts), (*kind, (*example).to_owned()), "{texts:?}");
    }
}

#[test]
fn other_texts_are_no_quantities() {
    let cases: &[&[&str]] = &[
        &[],
        &["red", "blue"],
        &["12 Monkeys", "Apollo 13", "Seven"],
        &["tt0111161", "tt0068646"],
        &["item5", "item7"],
        &["A4", "B5"],
        &["+44 20 7097 3933", "+66 77 445 966"],
        &["226 42 AVENUE", "90 12 STREET"],
        &["0 44 20 7097", "7 44 20 7097"],
        &["rs9697358", "rs10798619"],
        &["RM12", "RM7"],
        &["OH-12", "TX-7"],
        &["1005_at", "1091_at"],
        &["R_037XK72", "R_03aEb7"],
        &["1A-AM-1007-01", "6C-PM-1014-03"],
        &["S01E05", "S02E01"],
        &["978-3-16-148410-0", "978-0-306-40615-7"],
        &["555-123-4567", "555-765-4321"],
        &["INV-2022-001", "INV-2022-002"],
        &["a sentence of 5 words, and of other words, and of words after the words", "a word 7", "7"],
        &["550e8400-e29b-41d4-a716-446655440000", "f47ac10b-58cc-4372-a567-0e02b2c3d479"],
        &["inf", "nan"],
    ];
    for texts in cases {
        assert_eq!(outcome(texts), Outcome::Text, "{texts:?}");
    }
}

#[test]
fn a_share_of_the_texts_suffices_if_it_may() {
    let mut readings = Readings::default();
    (0..95).for_each(|number| readings.add(&format!("${number}.5")));
    (0..5).for_each(|_| readings.add("sold"));
    assert!(matches!(readings.outcome(0.95), Outcome::Form(form) if form.name() == "number $ 1234.56"));
    let Outcome::Unread { kind: Unread::Others, example, forms } = readings.outcome(1.0) else { panic!() };
    assert_eq!((example.as_str(), forms[0].name().as_str()), ("sold", "number $ 1234.56"));
}

#[test]
fn no_day_and_no_time_is_invented() {
    let form = |name: &str| Form::parse_name(name).unwrap();
    let cases = [
        ("date Y-m-d", "2022-02-29"),
        ("date Y-m-d", "2022-13-01"),
        ("date Y-m-d", "2022-00-01"),
        ("date Y-m-d", "2022-01-00"),
        ("date Y-m-d", "2022-08-25T24:00"),
        ("date Y-m-d", "2022-08-25T10:60"),
        ("date Y-m-d", "2022-08-25 10:30 XYZ"),
        ("date Y-m-d", "2022-08-25x"),
        ("date Y-m-d", "2022-08-251"),
        ("date Y-WV", "2022-W53"),
        ("date Y-WV", "2022-W00"),
        ("date d b Y", "25 Foo 2022"),
        ("date d b Y", "Foo, 25 Aug 2022"),
        ("time h:mm AM", "13:00 PM"),
        ("time h:mm AM", "10:30"),
        ("duration h:mm:ss", "1:60:00"),
        ("duration 1h 47m", "5m 3h"),
        ("duration 1h 47m", ""),
        ("duration 1h 47m", "P"),
        ("number $ 1,234.56", "€5"),
        ("number $ 1,234.56", "$1,23"),
        ("number $ 1,234.56", "$1 234"),
        ("number 1234.56", "0x10"),
    ];
    for (name, text) in cases {
        assert_eq!(form(name).value(text), None, "{name}: {text}");
    }
    assert_eq!(form("date Y-WV").value("2020-W53"), Some(18_624.0));
}

#[test]
fn names_are_read_back_and_others_refused() {
    for name in (0..super::dates::FORMS).map(super::dates::name) {
        let json = serde_json::to_string(&Form::parse_name(&name).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Form>(&json).unwrap().name(), name);
    }
    let names = [
        "number 1234.56",
        "number $ 1,234.56",
        "number 1.234,56 Mio. €",
        "number 1 234.56 out of 5",
        "number 1'234.56 %",
    ];
    for name in names {
        assert_eq!(Form::parse_name(name).map(|form| form.name()).as_deref(), Some(name));
    }
    for name in ["", "number", "number 12", "date", "date x", "years Y-y", "number 1,234,56"] {
        assert!(serde_json::from_str::<Form>(&format!("{name:?}")).is_err(), "{name}");
    }
}

#[test]
fn sql_is_proposed_where_it_is_right_for_all_texts() {
    for (name, texts, expected) in [
        (
            "number R$ 1.234,56",
            &["R$ 1.299,00", "-R$7"][..],
            Some("CAST(replace(replace(replace(\"x\", 'R$', ''), '.', ''), ',', '.') AS REAL)"),
        ),
        ("number $ 1,234.56", &["$1,000.50", "($5)"], None),
        ("number 1234.56", &["\u{2212}65"], None),
        ("date Y-m-d", &["2020-01-31"], Some("strftime('%s', \"x\") / 86400.0")),
        ("date Y-m-d", &["2020-01-31", "2020-1-31"], None),
        ("date b d, Y", &["Aug 25, 2022"], None),
        ("duration h:mm:ss", &["00:21:45"], Some("strftime('%s', '1970-01-01 ' || \"x\") * 1.0")),
        ("duration h:mm:ss", &["25:21:45"], None),
        ("duration 1h 47m", &["1h 47m"], None),
    ] {
        let form = Form::parse_name(name).unwrap();
        assert!(expected.is_none() || texts.iter().all(|text| form.value(text).is_some()), "{name}");
        assert_eq!(form.sql("\"x\"", texts.iter().copied()).as_deref(), expected, "{name} {texts:?}");
    }
}

#[test]
fn two_numbers_have_sql_that_is_right_for_all_texts() {
    let one = "CAST(\"x\" AS REAL)";
    let inner = "substr(\"x\", 8)";
    let after = |between: &str, length: usize| {
        format!("CAST(substr(\"x\", instr(\"x\", '{between}') + {length}) AS REAL)")
    };
    let place =
        [format!("CAST({inner} AS REAL)"), format!("CAST(substr({inner}, instr({inner}, ' ') + 1) AS REAL)")];
    for (texts, expected) in [
        (&["40.7, -74.0", "52, 13.4"][..], Some([one.to_owned(), after(", ", 2)])),
        (&["40.7, 74.0", "-52, -13.4"], Some([one.to_owned(), after(", ", 2)])),
        (&["3x4", "10x7"], Some([one.to_owned(), after("x", 1)])),
        (&["5-10", "10-20"], Some([one.to_owned(), after("-", 1)])),
        (&["4.5 out of 5", "3 out of 5"], Some([one.to_owned(), after(" out of ", 8)])),
        (&["POINT (13 52)", "POINT (-74.0 40.7)"], Some(place)),
        // The sign may be a dash.
        (&["5 -10", "10 -20"], None),
        (&["-5-10", "10-20"], None),
        (&["3x4", "3x4x5"], None),
        (&["1,5 x 2,5", "3 x 4"], None),
        (&["5-10", "unknown"], None),
        (&[], None),
    ] {
        assert_eq!(two_numbers_in_sql("\"x\"", texts.iter().copied()), expected, "{texts:?}");
    }
}

/// Texts of one column, in a form of this number, and their values.
fn column(form: usize, values: &[(i64, u32)]) -> (Vec<String>, Vec<f64>) {
    let group = |number: i64, mark: &str| {
        let digits = number.abs().to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
        groups.join(mark)
    };
    let sign = |number: i64, minus: &'static str| if number < 0 { minus } else { "" };
    let texts = values.iter().map(|&(number, part)| {
        let (cents, clock) = (part % 100, part % 86400);
        let (h, m, s) = (clock / 3600, clock / 60 % 60, clock % 60);
        match form {
            0 => (format!("{}${}.{cents:02}", sign(number, "-"), group(number, ",")), signed(number, cents)),
            1 => (
                format!("{}{},{cents:02} €", sign(number, "\u{2212}"), group(number, ".")),
                signed(number, cents),
            ),
            2 => (
                format!("{}{},{cents:02} %", sign(number, "-"), group(number, "\u{a0}")),
                signed(number, cents),
            ),
            3 => (
                format!("{}:{m:02}:{s:02}", number.abs()),
                (number.abs() * 3600 + i64::from(m * 60 + s)) as f64,
            ),
            4 => {
                (format!("{}h {m}m {s}s", number.abs()), (number.abs() * 3600 + i64::from(m * 60 + s)) as f64)
            }
            _ => {
                let day = number.rem_euclid(40_000);
                let value = (day * 86400 + i64::from(clock)) as f64 / 86400.0;
                let (year, month, of_month) = civil(day);
                let name =
                    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
                        [month as usize - 1];
                let text = match form {
                    5 => format!("{year}-{month:02}-{of_month:02}T{h:02}:{m:02}:{s:02}Z"),
                    6 => format!("{name} {of_month}, {year} {h}:{m:02}:{s:02}"),
                    7 => format!("{of_month:02} {name} {year} {h:02}:{m:02}:{s:02} +0000"),
                    _ => format!("{of_month}.{month}.{year} {h:02}:{m:02}:{s:02}"),
                };
                (text, value)
            }
        }
    });
    texts.unzip()
}

fn signed(number: i64, cents: u32) -> f64 {
    format!("{number}.{cents:02}").parse().unwrap()
}

/// Year, month and day, found by counting.
fn civil(mut day: i64) -> (i64, i64, i64) {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while day >= 365 + i64::from(is_leap(year)) {
        day -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month as i64 + 1, day + 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_values_are_read_exactly(form in 0_usize..9, values in prop::collection::vec((-3_000_000_i64..3_000_000, any::<u32>()), 1..40)) {
        let (mut texts, mut values) = column(form, &values);
        // A day above 12 settles the order.
        let (settled, value) = column(form, &[(29, 100)]);
        texts.extend(settled);
        values.extend(value);
        let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
        prop_assert_eq!(read(&refs).1, values);
    }

    #[test]
    fn the_order_does_not_matter(
        texts in prop::collection::vec("[0-9]{1,3}[,./:-]?[0-9]{0,3}( ?(kg|%|€|AM|K|h))?|\\$[0-9]{1,2}|[a-z]{1,3}|[a-z]{1,3}-[0-9]", 0..120),
        share in prop::sample::select(vec![1.0, 0.95, 0.3]),
    ) {
        let outcome = |texts: &mut dyn Iterator<Item = &String>| {
            let mut readings = Readings::default();
            texts.for_each(|text| readings.add(text));
            readings.outcome(share)
        };
        prop_assert_eq!(outcome(&mut texts.iter().rev()), outcome(&mut texts.iter()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(texts in prop::collection::vec(prop_oneof![
        any::<String>(),
        "[0-9.,:'\u{a0}年月日€$()%+\u{2212} TZWQhmsPAaugep-]{0,40}",
    ], 1..8)) {
        let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
        if let Outcome::Form(form) = outcome(&refs) {
            prop_assert!(refs.iter().all(|text| form.value(text).is_some_and(f64::is_finite)), "{}", form.name());
            prop_assert_eq!(Form::parse_name(&form.name()), Some(form));
        }
    }
}
