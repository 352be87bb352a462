import { useState } from 'preact/hooks';
import { call, type Me } from '../api.js';
import { useLive } from '../live.js';
import { Field, OpenForm, OutcomeNote, useOutcome } from '../parts/form.js';
import { Card, Facts, Note, Shown, Table, Time } from '../parts/parts.js';

type Token = {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
  readonly createdBy: string | null;
  readonly endsWith: string | null;
};

const scopes: Readonly<Record<string, string>> = {
  read: 'see everything of the organisation',
  finance: 'see money: usage, funds and statements',
  stop: 'suspend a paymaster, deactivate a contract, and undo nothing',
  write: 'everything, also what widens what is paid for',
};

/** Tokens for programs and colleagues: made here, shown once, revoked here. */
export function Tokens() {
  const tokens = useLive('tokens', async () => {
    const { tokens: all } = await call<{ tokens: readonly Token[] }>('/manage/v1/tokens');
    return all;
  });
  const me = useLive('me', () => call<Me>('/manage/v1/me'), 60_000);
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const { outcome, run } = useOutcome(tokens.reload);
  const own = me.data?.token;
  const revoke = (name: string) => async (): Promise<string> => {
    await call(`/manage/v1/tokens/${name}`, { method: 'DELETE' });
    if (made?.name === name) setMade(undefined);
    return `“${name}” is revoked: it is refused from now on.`;
  };
  return (
    <>
      <h1>Tokens</h1>
      <Card title="Tokens of this organisation">
        <OutcomeNote outcome={outcome} />
        <Shown
          live={tokens}
          isEmpty={(all) => all.length === 0}
          empty="You have no token yet besides those that the platform grants. Make one below for each program, with the scopes that it needs."
        >
          {(all) => (
            <Table
              caption="Tokens"
              rows={all}
              columns={[
                { name: 'Token', of: ({ name }) => name },
                { name: 'May', of: (token) => token.scopes.join(', ') },
                {
                  name: 'Ends',
                  of: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time>{expiresAt}</Time>),
                },
                { name: 'Made by', of: ({ createdBy }) => createdBy ?? 'a manifest' },
                { name: 'Ends with', of: ({ endsWith }) => endsWith ?? '–' },
                {
                  name: 'Change',
                  of: ({ name }) => (
                    <button
                      type="button"
                      onClick={() => void run(revoke(name))}
                      aria-label={`Revoke ${name}`}
                    >
                      Revoke
                    </button>
                  ),
                },
              ]}
            />
          )}
        </Shown>
      </Card>
      <Card title="New token">
        {own?.scopes.includes('write') === false && (
          <Note kind="warn">Only a token with the scope write makes others.</Note>
        )}
        <p>It ends with the token that you are signed in with: where that is removed, so is this.</p>
        <OpenForm
          title="Make a token"
          onDone={tokens.reload}
          send={async ({ name = '', ends = '', ...chosen }) => {
            const body = {
              name,
              scopes: Object.keys(chosen),
              ...(ends === '' ? {} : { expiresAt: new Date(ends).toISOString() }),
            };
            const { token } = await call<{ token: string }>('/manage/v1/tokens', { method: 'POST', body });
            setMade({ name, token });
            return `“${name}” is made.`;
          }}
        >
          <Field label="Name" name="name" pattern="[a-z0-9]([a-z0-9.\-]*[a-z0-9])?" />
          <label class="field">
            <span>Ends (left empty: as late as the token that makes it)</span>
            <input name="ends" type="datetime-local" />
          </label>
          <fieldset class="wide">
            <legend>It may</legend>
            {Object.entries(scopes).map(([scope, says]) => (
              <label key={scope}>
                <input type="checkbox" name={scope} /> {scope}: {says}
              </label>
            ))}
          </fieldset>
        </OpenForm>
        {made !== undefined && (
          <>
            <Note kind="warn">Copy it now: it is stored nowhere, and shown this once.</Note>
            <Facts>{[[made.name, <code class="secret">{made.token}</code>]]}</Facts>
            <p>
              <button type="button" onClick={() => setMade(undefined)}>
                I have copied it
              </button>
            </p>
          </>
        )}
      </Card>
    </>
  );
}
