import { useRef } from 'preact/hooks';
import { ended, signIn, useAsked } from './api.js';
import { Labelled } from './parts/form.js';
import { Note } from './parts/parts.js';

export function SignIn({ error: before }: { readonly error?: string }) {
  const input = useRef<HTMLInputElement>(null);
  const { ask, isAsking = false, error } = useAsked<boolean>(input);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void ask(() => signIn({ token: input.current?.value ?? '' }));
  };
  return (
    <main id="sign-in">
      <h1>Paymaster console</h1>
      <p class="quiet">
        Paste a token of your organisation. It is exchanged for a session of twelve hours and is not kept in
        this browser.
      </p>
      {ended.value !== undefined && <Note kind="warn">Your session has ended: {ended.value}.</Note>}
      <form onSubmit={submit}>
        <Labelled label="Token" says={error?.message ?? before}>
          {(state) => (
            <input
              ref={input}
              name="token"
              type="password"
              autocomplete="off"
              required
              autofocus
              {...state}
            />
          )}
        </Labelled>
        <button class="main" disabled={isAsking}>
          Sign in
        </button>
      </form>
      <p class="quiet">
        With <code>make run</code> the link that it prints signs you in, once; later the token is{' '}
        <code>authToken</code> in <code>.paymaster/connection.json</code>.
      </p>
    </main>
  );
}
