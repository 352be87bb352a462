import { readFileSync } from 'node:fs';
import { formatUnits } from 'viem';
import { readFacts } from './facts.mjs';
import { sponsor } from './paymaster.mjs';
import { openWallet } from './wallet.mjs';

// On any chain, by a paymaster that pays for any call, as the first one of docs/one-machine.md does (that of the quickstart
// refuses it): a new account has one operation sponsored. It is submitted by a transaction of the key in KEY_FILE, which gets
// back from the EntryPoint what the operation costs, or else by the bundlers that the Chain names.

const { PAYMASTER_DATA_DIR: directory = '.paymaster', KEY_FILE: keyFile } = process.env;
const facts = await readFacts(`${directory}/connection.json`);
const key = keyFile && `0x${readFileSync(keyFile, 'utf8').trim().replace(/^0x/, '')}`;
const wallet = await openWallet({ ...facts, bundlers: key ? undefined : [] }, key);
console.log(`wallet    ${wallet.address}, which does not exist yet`);
// A call that does nothing: the account exists afterwards.
const call = { to: '0x000000000000000000000000000000000000dEaD', data: '0x' };
const { success, actualGasCost } = await wallet.send(await sponsor(facts.rpcUrl, await wallet.draft([call])));
console.log(`sponsored success ${success}, the paymaster paid ${formatUnits(actualGasCost, 18)} coins`);
