import { encodeFunctionData, erc20Abi, formatUnits, parseAbi, parseUnits } from 'viem';
import { readFacts, sponsoredCall } from './facts.mjs';
import { payInTokens, quote, sponsor } from './paymaster.mjs';
import { openWallet } from './wallet.mjs';

// Against `make run`: a new wallet without any coin has one operation sponsored, and pays for the next one in tokens.

const { PAYMASTER_DATA_DIR: directory = '.paymaster', RPC_URL } = process.env;
const file = process.argv[2] ?? `${directory}/connection.json`;
const facts = await readFacts(file);
const { feeToken } = facts;
// Another paymaster of the same version may be named.
const rpcUrl = RPC_URL ?? facts.rpcUrl;
const sponsoredContract = sponsoredCall(facts);
const wallet = await openWallet(facts);
console.log(`wallet    ${wallet.address}, which does not exist yet`);
console.log(
  `bundler   ${facts.bundlers ? 'behind the same address' : 'none: this script submits operations itself'}`,
);

const increment = {
  to: sponsoredContract.address,
  data: encodeFunctionData({ abi: parseAbi([`function ${sponsoredContract.method}`]) }),
};
const first = await wallet.send(await sponsor(rpcUrl, await wallet.draft([increment])));
console.log(
  `sponsored success ${first.success}, the paymaster paid ${formatUnits(first.actualGasCost, 18)} ether`,
);

// Anybody may mint the dev chain's fee token.
await wallet.funder.writeContract({
  address: feeToken.address,
  abi: parseAbi(['function mint(address to, uint256 amount)']),
  functionName: 'mint',
  args: [wallet.address, parseUnits('1000', feeToken.decimals)],
});
const fee = await quote(rpcUrl, await wallet.draft([increment]), feeToken.address);
console.log(`quoted    at most ${fee.maxGasFee} ${fee.symbol}, premium ${fee.premiumPercentage} % included`);

const approve = {
  to: feeToken.address,
  data: encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [fee.spender, wholeTokens(fee)],
  }),
};
const before = await balance();
const operation = await payInTokens(rpcUrl, await wallet.draft([approve, increment]), feeToken.address);
const second = await wallet.send(operation);
const paid = formatUnits(before - (await balance()), feeToken.decimals);
console.log(`paid      success ${second.success}, the wallet paid ${paid} ${fee.symbol}`);

function balance() {
  const call = {
    address: feeToken.address,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [wallet.address],
  };
  return wallet.client.readContract(call);
}

/** `maxGasFee` is in whole tokens, rounded up: this never falls below what the contract can take. */
function wholeTokens({ maxGasFee, decimal }) {
  return BigInt(Math.ceil(maxGasFee * 10 ** decimal));
}
