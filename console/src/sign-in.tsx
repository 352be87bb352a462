import { useRef, useState } from 'preact/hooks';
import { ended, signIn } from './api.js';
import { Labelled } from './parts/form.js';
import { Note } from './parts/parts.js';

export function SignIn({ error: before }: { readonly error?: string }) {
  const [error, setError] = useState(before);
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn({ token: input.current?.value ?? '' });
    } catch (cause) {
      setError((cause as Error).message);
      setBusy(false);
      input.current?.focus();
    }
  }

  return (
    <main id="sign-in">
      <h1>Paymaster console</h1>
      <p class="quiet">
        Paste a token of your organisation. It is exchanged for a session of twelve hours and is not kept in
        this browser.
      </p>
      {ended.value !== undefined && <Note kind="warn">Your session has ended: {ended.value}.</Note>}
      <form onSubmit={(event) => void submit(event)}>
        <Labelled label="Token" says={error}>
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
        <button class="main" disabled={isBusy}>
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
