// Registration, and reset of a forgotten password.

import { Check, Form, Input, text, Title } from "../../../shared/basics";
import { useSendOnce } from "../../../shared/load";
import { go } from "../../../shared/router";
import { agora, logIn } from "../../../shared/session";

export function Register() {
  const sendOnce = useSendOnce();
  return (
    <>
      <Title>Register</Title>
      <Form
        label="Register"
        submit="Register"
        does={async (fields) => {
          const [username, password] = [text(fields, "username"), text(fields, "password")];
          const body = { username, email: text(fields, "email"), password };
          // If the login fails, a retry replays the registration under the same key.
          await sendOnce(JSON.stringify(body), async (header) => {
            await agora.post("/api/auth/register", { params: { header }, body });
            await logIn(username, password, fields.has("remember"));
          });
          go("#/");
        }}
      >
        <Input label="Username" name="username" autoComplete="username" required maxLength={50} />
        <Input label="Email address" name="email" type="email" autoComplete="email" required />
        <Input label="Password, at least 8 characters" name="password" type="password" autoComplete="new-password" required />
        <Check label="Keep me logged in when I reload this page" name="remember" />
      </Form>
      <p>
        <a href="#/">Log in instead</a>
      </p>
    </>
  );
}

export function Forgot() {
  return (
    <>
      <Title>Forgotten password</Title>
      <Form
        label="Request a password reset"
        submit="Send a code by mail"
        done="If the account exists and this service sends mail, you will get a mail with a code."
        does={(fields) => agora.post("/api/auth/password/forgot", { body: { identifier: text(fields, "identifier") } })}
      >
        <Input label="Username or email address" name="identifier" autoComplete="username" required />
      </Form>
      <h2>If you have the mail</h2>
      <Form
        label="Choose a new password"
        submit="Set password"
        done="You can log in with the new password now."
        does={(fields) => {
          const body = { token: text(fields, "token").trim(), newPassword: text(fields, "newPassword") };
          return agora.post("/api/auth/password/reset", { body });
        }}
      >
        <Input label="The code from the mail" name="token" autoComplete="one-time-code" required />
        <Input label="New password" name="newPassword" type="password" autoComplete="new-password" required />
      </Form>
      <p>
        <a href="#/">Log in</a>
      </p>
    </>
  );
}
