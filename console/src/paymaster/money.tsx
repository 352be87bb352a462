import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can, useLive } from '../api.js';
import { coins, dollars } from '../format.js';
import { Field, OpenForm, OutcomeNote, useOutcome } from '../parts/form.js';
import { Funds } from '../parts/funds.js';
import { findChain, OnChain } from '../parts/on-chain.js';
import { Card, Facts, Shown, Tile, Time } from '../parts/parts.js';
import type { Known, OfPaymaster } from '../paymasters.js';
import { startOfDay, startOfMonth, readUsage } from '../range.js';
import type { Usage } from '../records.js';
import { pageHref } from '../route.js';

/** What a paymaster has spent, which accounts pay for it, and for how long they last. */
export function Money({ paymaster, onChanged }: OfPaymaster) {
  const { object, paymasterId, chainId } = paymaster;
  const spentSince = (from: string, step: string) => () =>
    readUsage({ from, step, groupBy: 'paymaster', paymasterId });
  const today = useLive(`spent today ${object}`, spentSince(startOfDay(), 'day'));
  const month = useLive(`spent month ${object}`, spentSince(startOfMonth(), 'month'));
  const funds = useLive('funds', () => call<Answers['getFunds']>('/manage/v1/funds'));
  return (
    <>
      <div class="tiles">
        <Spent label="Spent today (UTC)" usage={today.data} chainId={chainId} />
        <Spent label="Spent this month (UTC)" usage={month.data} chainId={chainId} />
        <Tile
          label="By method, account or key"
          value="All money"
          note="of any month, with its statement and CSV"
          href={pageHref('money', { paymasterId, by: 'method' })}
        />
      </div>
      <Card title="Accounts that pay">
        <Shown
          live={funds}
          isEmpty={({ items }) => items.every(({ paymasters }) => !paymasters.includes(object))}
          empty="No account pays for it yet."
        >
          {({ items }) => <Funds accounts={items.filter(({ paymasters }) => paymasters.includes(object))} />}
        </Shown>
      </Card>
      <Card title="Who pays">
        <Funding paymaster={paymaster} onDone={onChanged} />
      </Card>
    </>
  );
}

function Spent({
  label,
  usage,
  chainId,
}: {
  readonly label: string;
  readonly usage: Usage | undefined;
  readonly chainId: number;
}) {
  const [row] = usage?.items ?? [];
  const usd = row?.spentUsd;
  return (
    <Tile
      label={label}
      value={
        usage === undefined ? '…' : `${coins(row?.spent ?? '0')} ${findChain(chainId)?.symbol ?? 'coins'}`
      }
      note={typeof usd === 'string' ? `${dollars(usd)} US dollars` : ''}
    />
  );
}

/** A wallet in the browser, as EIP-1193 has it. */
type Wallet = { request(asked: { method: string; params?: readonly unknown[] }): Promise<unknown> };

type Message = Answers['createFundingMessage'];

const injected = (): Wallet | undefined => (globalThis as { ethereum?: Wallet }).ethereum;

/** Whose balance pays: its owner proves by a signature that he agrees. */
function Funding({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
  const { object, funding, chainId } = paymaster;
  const [asked, setAsked] = useState<Message>();
  const { outcome, run } = useOutcome(onDone);
  const path = `/manage/v1/paymasters/${object}/funding`;
  const newMessage = async (): Promise<Message> => {
    const message = await call<Message>(`${path}/message`, { method: 'POST' });
    setAsked(message);
    return message;
  };
  const set = async (address: string, signature: string): Promise<string> => {
    await call(path, { method: 'PUT', body: { address, signature } });
    setAsked(undefined);
    return `${address} pays from now on.`;
  };
  const byWallet = async (wallet: Wallet): Promise<string> => {
    const [address = ''] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
    const { message } = await newMessage();
    const signature = await wallet.request({ method: 'personal_sign', params: [toHex(message), address] });
    return set(address, String(signature));
  };
  const wallet = injected();
  return (
    <>
      <Facts>
        {[
          [
            'Funding wallet',
            funding === undefined ? (
              'the default of the platform'
            ) : (
              <OnChain chainId={chainId} label="funding wallet">
                {funding.address}
              </OnChain>
            ),
          ],
        ]}
      </Facts>
      <OutcomeNote outcome={outcome} />
      {wallet !== undefined && can() && (
        <p>
          <button type="button" onClick={() => void run(() => byWallet(wallet))}>
            Change it to the wallet of this browser
          </button>
        </p>
      )}
      {can() && (
        <OpenForm
          title="Change it by a signature from elsewhere"
          isEmptied
          onDone={onDone}
          send={({ address = '', signature = '' }) => set(address, signature)}
        >
          <div class="wide">
            <p>
              Have the wallet sign the message below (EIP-191, personal_sign), and paste what it answers.{' '}
              <button
                type="button"
                onClick={() => void run(async () => `Sign it until ${(await newMessage()).expiresAt}.`)}
              >
                Get the message
              </button>
            </p>
          </div>
          {asked !== undefined && (
            <div class="wide">
              <pre tabIndex={0}>{asked.message}</pre>
              <p class="quiet">
                It can be used until <Time>{asked.expiresAt}</Time>, once.
              </p>
            </div>
          )}
          <Field label="Address of the wallet" name="address" pattern="0x[0-9a-fA-F]{40}" />
          <Field label="Signature" name="signature" pattern="0x[0-9a-fA-F]+" />
        </OpenForm>
      )}
    </>
  );
}

function toHex(text: string): string {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
