//! The limit that the service is measured against: a bare handler that answers the bytes of a file, with the same
//! framework and as many threads. Usage: `agora-bench-bare ADDRESS STATUS FILE`; see the crate `agora-bench`.

#![forbid(unsafe_code)]

use std::{env, io};

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, status, file] = arguments.as_slice() else {
        return Err(io::Error::other("usage: agora-bench-bare ADDRESS STATUS FILE"));
    };
    let status: StatusCode = status.parse().map_err(io::Error::other)?;
    let body = web::Bytes::from(std::fs::read(file)?);
    // The request's body is read, as the service must; one without a body has none to wait for.
    let handler = move |_: web::Bytes| {
        let body = body.clone();
        async move { HttpResponse::build(status).content_type("application/json").body(body) }
    };
    let workers = std::thread::available_parallelism()?.get();
    let server = HttpServer::new(move || App::new().default_service(web::to(handler.clone())));
    actix_web::rt::System::new().block_on(server.workers(workers).bind(address.as_str())?.run())
}
