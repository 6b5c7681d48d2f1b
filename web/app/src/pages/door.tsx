// Coming in for the first time, or with a forgotten password.

import { Check, Form, Input, text, Title } from "../../../shared/basics";
import { useKey } from "../../../shared/load";
import { go } from "../../../shared/router";
import { agora, logIn } from "../../../shared/session";

export function Register() {
  const keyed = useKey();
  return (
    <>
      <Title>Register</Title>
      <Form
        label="Register"
        submit="Register"
        does={async (fields) => {
          const [username, password] = [text(fields, "username"), text(fields, "password")];
          const body = { username, email: text(fields, "email"), password };
          // Whoever tries again after a login that failed is registered already.
          await keyed(JSON.stringify(body), async (header) => {
            await agora.post("/api/auth/register", { params: { header }, body });
            await logIn(username, password, fields.has("stays"));
          });
          go("#/");
        }}
      >
        <Input label="Name" name="username" autoComplete="username" required maxLength={50} />
        <Input label="Email address" name="email" type="email" autoComplete="email" required />
        <Input label="Password, of 8 characters or more" name="password" type="password" autoComplete="new-password" required />
        <Check label="Keep me logged in when I reload this page" name="stays" />
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
        label="Ask for mail"
        submit="Send me mail"
        done="If there is such an account and this service sends mail, a message is on its way."
        does={(fields) => agora.post("/api/auth/password/forgot", { body: { identifier: text(fields, "identifier") } })}
      >
        <Input label="Name or address" name="identifier" autoComplete="username" required />
      </Form>
      <h2>You have the mail</h2>
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
