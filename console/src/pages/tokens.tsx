import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can, Mistake, useLive } from '../api.js';
import { ifSure } from '../parts/confirmed.js';
import { Boxes, type Change, Field, InView, OpenForm, OutcomeNote, useOutcome } from '../parts/form.js';
import { Card, Facts, Note, Shown, Table, Time } from '../parts/parts.js';

const scopes: Readonly<Record<string, string>> = {
  read: 'see everything of the organisation',
  finance: 'see money: usage, funds and statements, with the names of paymasters',
  stop: 'list paymasters and what is wrong, suspend a paymaster, deactivate a contract, and undo nothing',
  write: 'everything, also what widens what is paid for',
};

/** Tokens for programs and colleagues: made here, shown once, revoked here. */
export function Tokens() {
  const tokens = useLive('tokens', async () => {
    const { items: all } = await call<Answers['listTokens']>('/manage/v1/tokens');
    return all;
  });
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const { outcome, run } = useOutcome(tokens.reload);
  const mayChange = can();
  const revoke = (name: string): Change => {
    const others = (tokens.data ?? []).filter(({ endsWith }) => endsWith === name).map((each) => each.name);
    return ifSure(
      {
        title: `Revoke “${name}”?`,
        says: `What uses it is refused at once, for good.${others.length === 0 ? '' : ` With it end the tokens that it made, and those that they made: ${others.join(', ')}.`}`,
        button: 'Revoke',
      },
      async () => {
        await call(`/manage/v1/tokens/${name}`, { method: 'DELETE' });
        if (made?.name === name) setMade(undefined);
        return `“${name}” is revoked: it is refused from now on.`;
      },
    );
  };
  return (
    <>
      <h1>Tokens</h1>
      <Card title="Tokens of this organisation">
        <OutcomeNote outcome={outcome} />
        <Shown
          live={tokens}
          empty={`You have no token yet besides those that the platform grants.${mayChange ? ' Make one below for each program, with the scopes that it needs.' : ''}`}
        >
          {(all) => (
            <Table
              caption="Tokens"
              id={({ name }) => name}
              rows={all}
              columns={[
                { name: 'Token', of: ({ name }) => name, by: ({ name }) => name },
                { name: 'May', of: (token) => token.scopes.join(', ') },
                {
                  name: 'Ends',
                  of: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time>{expiresAt}</Time>),
                  by: ({ expiresAt }) => expiresAt ?? undefined,
                },
                {
                  name: 'Last used',
                  of: ({ lastUsedAt }) =>
                    lastUsedAt === null ? <span class="quiet">not yet</span> : <Time>{lastUsedAt}</Time>,
                  by: ({ lastUsedAt }) => lastUsedAt ?? undefined,
                },
                { name: 'Made by', of: ({ createdBy }) => createdBy ?? 'a manifest' },
                { name: 'Ends with', of: ({ endsWith }) => endsWith ?? '–' },
                mayChange && {
                  name: 'Change',
                  of: ({ name }) => (
                    <button
                      type="button"
                      class="danger"
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
      {mayChange && (
        <Card title="New token">
          <p>It ends with the token that you are signed in with: where that is removed, so is this.</p>
          <OpenForm
            title="Make a token"
            isEmptied
            onDone={tokens.reload}
            send={async ({ name = '', expiresAt: ends = '', ...chosen }) => {
              if (Object.keys(chosen).length === 0)
                throw new Mistake('Choose what the token may do.', [
                  { field: 'scopes', says: 'Choose at least one.' },
                ]);
              const body = {
                name,
                scopes: Object.keys(chosen),
                ...(ends === '' ? {} : { expiresAt: new Date(ends).toISOString() }),
              };
              const { token } = await call<Answers['createToken']>('/manage/v1/tokens', {
                method: 'POST',
                body,
              });
              setMade({ name, token });
              return `“${name}” is made.`;
            }}
          >
            <Field label="Name" name="name" pattern="[a-z0-9]([a-z0-9.\-]*[a-z0-9])?" />
            <Field
              label="Ends (left empty: as late as the token that makes it)"
              name="expiresAt"
              type="datetime-local"
              isOptional
            />
            <Boxes legend="It may" name="scopes">
              {Object.entries(scopes).map(([scope, says]) => (
                <label key={scope}>
                  <input type="checkbox" name={scope} /> {scope}: {says}
                </label>
              ))}
            </Boxes>
          </OpenForm>
          <InView of={made}>
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
          </InView>
        </Card>
      )}
    </>
  );
}
