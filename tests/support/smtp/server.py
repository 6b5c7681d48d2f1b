"""An SMTP server for tests: `server.py OPTIONS`, where OPTIONS is a JSON object.

The first line of its output is its port. Each further line is a mail, as a JSON object.

Options:
- `port`: the port, 0 for a free one.
- `tls`: `none`, `starttls` or `implicit`. The last two need the files `certificate` and `key`.
- `login`: a username and a password. If it is set, clients must authenticate.

A recipient that begins with `refused` gets a permanent error, and one that begins with `later` a temporary one. The response to
a mail whose first recipient begins with `slow` is sent two seconds after the mail was printed.
"""

import asyncio
import email
import email.policy
import json
import logging
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

OPTIONS = json.loads(sys.argv[1])
TLS = OPTIONS.get("tls", "none")
LOGIN = OPTIONS.get("login")

# Do not log what tests do on purpose: failed handshakes, credentials before encryption.
logging.getLogger("mail").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore")


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return f"550 5.1.1 <{address}>: no such mailbox"
        if address.startswith("later"):
            return "451 4.3.0 come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        mail = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "hello": session.host_name,
            "encrypted": session.ssl is not None or TLS == "implicit",
            "logged_in": bool(session.authenticated),
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "text": message.get_content(),
        }
        print(json.dumps(mail), flush=True)
        if envelope.rcpt_tos[0].startswith("slow"):
            await asyncio.sleep(2)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    credentials = [data.login.decode(), data.password.decode()]
    if credentials != LOGIN:
        return AuthResult(success=False, handled=False)
    return AuthResult(success=True, auth_data=data.login)


async def serve():
    context = None
    if TLS != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(OPTIONS["certificate"], OPTIONS["key"])
    starttls = TLS == "starttls"

    def protocol():
        return SMTP(
            Handler(),
            enable_SMTPUTF8=True,
            tls_context=context if starttls else None,
            require_starttls=starttls,
            authenticator=authenticate if LOGIN else None,
            auth_required=LOGIN is not None,
            auth_require_tls=starttls,
        )

    loop = asyncio.get_running_loop()
    implicit = context if TLS == "implicit" else None
    server = await loop.create_server(protocol, "127.0.0.1", OPTIONS.get("port", 0), ssl=implicit)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())
