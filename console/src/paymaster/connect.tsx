import { useEffect, useState } from 'preact/hooks';
import { can } from '../api.js';
import { Copy, Snippet } from '../parts/copy.js';
import { OutcomeNote, useOutcome, type Change } from '../parts/form.js';
import { Card, Facts } from '../parts/parts.js';
import { apiKeyOf, type Known } from '../paymasters.js';
import { NewKey } from './new-key.js';
import { snippets } from './snippets.js';

/** How an application asks this paymaster: its address, and code to paste. */
export function Connect({
  paymaster,
  onChanged,
}: {
  readonly paymaster: Known;
  readonly onChanged: () => void;
}) {
  const [keys, setKeys] = useState(0);
  return (
    <Card title="Connect a wallet">
      <Connection key={keys} paymaster={paymaster} />
      {can() && <NewKey paymaster={paymaster} onDone={() => (setKeys((last) => last + 1), onChanged())} />}
    </Card>
  );
}

/** `isShown`: with the apiKey in it from the begin. */
export function Connection({
  paymaster: { object, chainId, paymasterId },
  isShown = false,
}: {
  readonly paymaster: Known;
  readonly isShown?: boolean;
}) {
  const [apiKey, setKey] = useState<string>();
  const { outcome, run } = useOutcome(() => undefined);
  const show: Change = async () => {
    setKey(await apiKeyOf(object));
    return undefined;
  };
  useEffect(() => void (isShown && run(show)), []);
  const url = `${location.origin}/api/v1/${chainId}/${apiKey ?? 'API_KEY'}`;
  return (
    <>
      <p class="quiet">
        Wallets call this address. Its last part is the apiKey: everybody who has it can ask this paymaster to
        pay, within your rules. Where the JSON-RPC servers have another host than this page, put that in its
        place.
      </p>
      <Facts>
        {[
          [
            'paymasterId',
            <>
              <code>{paymasterId}</code> <Copy text={paymasterId} label="paymasterId" />
            </>,
          ],
          [
            'JSON-RPC address',
            <>
              <code>{url}</code> <Copy text={url} label="JSON-RPC address" />
            </>,
          ],
        ]}
      </Facts>
      <OutcomeNote outcome={outcome} />
      {can() && (
        <p>
          <button
            type="button"
            aria-pressed={apiKey !== undefined}
            onClick={() => (apiKey === undefined ? void run(show) : setKey(undefined))}
          >
            {apiKey === undefined ? 'Show the apiKey' : 'Hide the apiKey'}
          </button>
        </p>
      )}
      {snippets.map(({ title, code }) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <Snippet text={code({ url, chainId })} label={`code for ${title}`} />
        </section>
      ))}
    </>
  );
}
