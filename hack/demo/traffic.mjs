// Against `make run`: about as many operations as a small DApp has in an hour, in MINUTES minutes (default 1), so that the console,
// usage and metrics have something to show. Some are refused, some never mined, some paid in tokens.
import { encodeFunctionData, erc20Abi, maxUint256, parseAbi, parseUnits } from 'viem';
import { readFacts, sponsoredCall } from '../../examples/client/facts.mjs';
import { payInTokens, quote, sponsor } from '../../examples/client/paymaster.mjs';
import { openWallet } from '../../examples/client/wallet.mjs';

const { PAYMASTER_DATA_DIR: directory = '.paymaster', MINUTES: minutes = '1' } = process.env;
const facts = await readFacts(`${directory}/connection.json`);
const { rpcUrl, feeToken } = facts;
const sponsoredContract = sponsoredCall(facts);
const endsAt = performance.now() + Number(minutes) * 60_000;

const callOf = (method) => ({
  to: sponsoredContract.address,
  data: encodeFunctionData({
    abi: parseAbi([`function ${method}`]),
    args: method.includes('uint256') ? [1n] : [],
  }),
});
const increment = callOf(sponsoredContract.method);

/** What wallets do, and how often among a hundred. */
const acts = {
  mined: { share: 74, act: async (wallet) => wallet.send(await ask(wallet, increment)) },
  // Signed, and then the wallet changes its mind.
  'never sent': { share: 6, act: (wallet) => ask(wallet, increment) },
  'other method': { share: 8, act: (wallet) => refusedFor(wallet, callOf('burn(uint256 rounds)')) },
  'other contract': {
    share: 6,
    act: (wallet) => refusedFor(wallet, { to: feeToken.address, data: '0x06fdde03' }),
  },
  'paid in tokens': { share: 6, act: inTokens },
};

console.log(`Sending operations for ${minutes} minute(s)…`);
const wallets = await Promise.all(Array.from({ length: 12 }, () => openWallet(facts)));
const done = Object.fromEntries(Object.keys(acts).map((name) => [name, 0]));
let turn = 0;
while (performance.now() < endsAt) {
  const wallet = wallets[turn % wallets.length];
  const name = chosen();
  turn += 1;
  // The first operation of an account creates it.
  const { act } = turn <= wallets.length ? acts.mined : acts[name];
  await act(wallet);
  done[turn <= wallets.length ? 'mined' : name] += 1;
}
console.log(
  Object.entries(done)
    .map(([name, count]) => `${name} ${count}`)
    .join(', '),
);
console.log(`See them: ${facts.dashboardUrl}/console/#/overview?range=15m`);

async function ask(wallet, call) {
  return sponsor(rpcUrl, await wallet.draft([call]));
}

async function refusedFor(wallet, call) {
  await ask(wallet, call).then(
    () => Promise.reject(new Error('an operation that should be refused was sponsored')),
    () => {},
  );
}

async function inTokens(wallet) {
  await wallet.funder.writeContract({
    address: feeToken.address,
    abi: parseAbi(['function mint(address to, uint256 amount)']),
    functionName: 'mint',
    args: [wallet.address, parseUnits('100', feeToken.decimals)],
  });
  const { spender } = await quote(rpcUrl, await wallet.draft([increment]), feeToken.address);
  const args = [spender, maxUint256];
  const approve = {
    to: feeToken.address,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
  };
  await wallet.send(await payInTokens(rpcUrl, await wallet.draft([approve, increment]), feeToken.address));
}

function chosen() {
  let point = Math.random() * 100;
  for (const [name, { share }] of Object.entries(acts)) {
    point -= share;
    if (point < 0) return name;
  }
  return 'mined';
}
