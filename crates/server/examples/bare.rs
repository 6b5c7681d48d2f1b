//! The limit that the service is measured against: a bare handler that answers the bytes of a file, with the same
//! framework and as many threads. Usage: `bare ADDRESS FILE`; see `scripts/measure`.

use std::{env, io};

use actix_web::{App, HttpResponse, HttpServer, web};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: bare ADDRESS FILE"));
    };
    let body = web::Bytes::from(std::fs::read(file)?);
    let handler = move || {
        let body = body.clone();
        async move { HttpResponse::Ok().content_type("application/json").body(body) }
    };
    let workers = std::thread::available_parallelism()?.get();
    let server = HttpServer::new(move || App::new().default_service(web::to(handler.clone())));
    actix_web::rt::System::new().block_on(server.workers(workers).bind(address)?.run())
}
