// The login form.

import { Check, Form, Input, text, Title } from "./basics";
import { sessionEndReason, logIn } from "./session";

export function Login() {
  return (
    <>
      <Title>Log in</Title>
      {sessionEndReason.value && <p role="status">{sessionEndReason.value}</p>}
      <Form
        label="Log in"
        submit="Log in"
        does={(fields) => logIn(text(fields, "identifier"), text(fields, "password"), fields.has("remember"))}
      >
        <Input label="Username or email address" name="identifier" autoComplete="username" required />
        <Input label="Password" name="password" type="password" autoComplete="current-password" required />
        <Check label="Keep me logged in when I reload this page" name="remember" />
      </Form>
    </>
  );
}
