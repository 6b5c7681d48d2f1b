// Logging in.

import { Check, Form, Input, text, Title } from "./basics";
import { farewell, logIn } from "./session";

export function Login() {
  return (
    <>
      <Title>Log in</Title>
      {farewell.value && <p role="status">{farewell.value}</p>}
      <Form
        label="Log in"
        submit="Log in"
        does={(fields) => logIn(text(fields, "identifier"), text(fields, "password"), fields.has("stays"))}
      >
        <Input label="Name or address" name="identifier" autoComplete="username" required />
        <Input label="Password" name="password" type="password" autoComplete="current-password" required />
        <Check label="Keep me logged in when I reload this page" name="stays" />
      </Form>
    </>
  );
}
