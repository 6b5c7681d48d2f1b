//! The upper limit that the service is compared with: a bare handler that responds with the content of a file, on the same
//! framework and with as many threads. Usage: `agora-bench-bare ADDRESS STATUS FILE`; see the crate `agora-bench`.

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
    // The extractor reads the body of the request, as the service must.
    let handler = move |_: web::Bytes| {
        let body = body.clone();
        async move { HttpResponse::build(status).content_type("application/json").body(body) }
    };
    let workers = std::thread::available_parallelism()?.get();
    let server = HttpServer::new(move || App::new().default_service(web::to(handler.clone())));
    actix_web::rt::System::new().block_on(server.workers(workers).bind(address.as_str())?.run())
}
