//! GraphQL over HTTP/1.0: a connection a question, answers that end with it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::Outcome;

/// Where the server listens.
pub(crate) struct Endpoint {
    address: String,
}

impl Endpoint {
    /// Of a URL such as `http://127.0.0.1:4400`.
    pub(crate) fn new(url: &str) -> Outcome<Self> {
        let address = url.strip_prefix("http://").ok_or("the URL must begin with http://")?;
        Ok(Self { address: address.trim_end_matches('/').to_owned() })
    }

    /// The answer to the only field of an operation; an error for anything but data.
    pub(crate) fn ask(&self, query: &str, variables: &Value) -> Outcome<Value> {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "POST /graphql HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        field(&answer)
    }
}

fn field(answer: &str) -> Outcome<Value> {
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a body")?;
    let body: Value = serde_json::from_str(body)?;
    let fields = body.get("data").and_then(Value::as_object);
    match fields.and_then(|fields| fields.values().next()) {
        Some(value) if !value.is_null() && body.get("errors").is_none() => Ok(value.clone()),
        _ => Err(format!("unexpected: {body}").into()),
    }
}
