import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import type { Known } from '../paymasters.js';
import { Field, OpenForm, OutcomeNote, useOutcome } from '../parts/form.js';
import { OnChain } from '../parts/on-chain.js';
import { Facts, Time } from '../parts/parts.js';

/** A wallet in the browser, as EIP-1193 has it. */
type Wallet = { request(asked: { method: string; params?: readonly unknown[] }): Promise<unknown> };

type Message = Answers['createFundingMessage'];

const injected = (): Wallet | undefined => (globalThis as { ethereum?: Wallet }).ethereum;

/** Whose balance pays: its owner proves by a signature that he agrees. */
export function Funding({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
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
    const signature = await wallet.request({ method: 'personal_sign', params: [hexOf(message), address] });
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

function hexOf(text: string): string {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
