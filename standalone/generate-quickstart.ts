import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  documentEndpoints,
  manageEndpoints,
  managePrefix,
  platformEndpoints,
  prefix,
} from '../server/dashboard/endpoints.js';
import { renderTable, withTable } from '../operator/tables.js';
import { devBundlersFile } from './bundler/beside.js';
import { findRoot } from './root.js';
import { describeDevChain, type DevDeployments } from './dev-chain/deployments.js';
import { devDollarsPerEther } from './dev-chain/price-feeds.js';
import { devAccounts } from './dev-chain/dev-accounts.js';
import type { Endpoint } from '../server/dashboard/endpoint.js';

// Entry of `make generate`: writes the manifests of examples/quickstart that name addresses of the dev chain, and docs/rest.md.
// `--check` fails when they are out of date.

const devChainId = 31337;
const root = findRoot(import.meta.url);
const isCheck = process.argv.includes('--check');
const stale: string[] = [];

const devChain = describeDevChain(devChainId, devAccounts.signer.address, devAccounts.deployer.address);
for (const [name, text] of Object.entries({
  'examples/quickstart/chain.yaml': renderChain(devChain),
  'examples/quickstart/fee-token.yaml': renderFeeToken(devChain),
  'examples/quickstart/contract.yaml': renderContract(devChain),
  'docs/rest.md': renderRest(readFileSync(join(root, 'docs/rest.md'), 'utf8')),
})) {
  const file = join(root, name);
  if (isCheck && readFileSync(file, 'utf8') !== text) stale.push(file);
  if (!isCheck) writeFileSync(file, text);
}
if (stale.length > 0) {
  process.stderr.write(`error: not current, run "make generate": ${stale.join(', ')}\n`);
  process.exitCode = 1;
}

function renderRest(page: string): string {
  const documented = withTable(page, 'document', endpointTable(prefix, documentEndpoints));
  return withTable(
    documented,
    'manage',
    endpointTable(managePrefix, [...manageEndpoints, ...platformEndpoints]),
  );
}

function renderChain({ chainId, delegates, profiles, defaultFunding }: DevDeployments): string {
  return `# The dev chain that \`make run\` starts, with every paymaster contract that it deploys. Written by \`make generate\`.
# A real chain lists its RPC URLs (or, as here, a mounted file of them) and the contracts that you deployed.
apiVersion: paymasters.dev/v1alpha1
kind: Chain
metadata:
  name: dev
spec:
  chainId: ${chainId}
  rpc: { file: dev, multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11' }
  # Written by \`make run BUNDLER=1\`. Clients then send to the paymaster's own address.
  bundlers: { file: ${devBundlersFile} }
  nativeCurrency: { name: Ether, symbol: ETH, decimals: 18 }
  # Made up, so that usage, funds and statements have dollars. A real chain names a feed.
  nativePrice: { static: { usdPerNative: '${devDollarsPerEther}' } }
  confirmations: 0
  delegates:
${delegates.map((address) => `    - '${address}'\n`).join('')}  profiles:
${profiles.map((profile) => renderProfile(profile, defaultFunding)).join('')}`;
}

function renderProfile(profile: DevDeployments['profiles'][number], defaultFunding: string): string {
  const { version, layout, entryPoint, sponsorship, token, options } = profile;
  const optionLines = Object.entries(options).map(
    ([name, value]) => `        ${name}: ${typeof value === 'string' ? `'${value}'` : value}\n`,
  );
  return [
    `    - version: '${version}'\n`,
    `      layout: ${layout}\n`,
    `      entryPoint: '${entryPoint}'\n`,
    '      addresses:\n',
    `        sponsorship: '${sponsorship}'\n`,
    ...(token === undefined ? [] : [`        token: '${token}'\n`]),
    '      signer: { file: dev }\n',
    `      defaultFunding: { address: '${defaultFunding}', organisations: ['*'] }\n`,
    ...(optionLines.length === 0 ? [] : ['      options:\n', ...optionLines]),
  ].join('');
}

function renderFeeToken({ chainId, feeToken, feeds }: DevDeployments): string {
  const { address, symbol, decimals } = feeToken;
  return `# A token with a public mint, priced by two feeds on the dev chain: dollars per ether over dollars per ${symbol}. Anybody
# may set these feeds ("set(int256)", 8 decimals), and quotes follow within seconds. Nobody has to: a feed that is not set for a
# day counts as stale, here as on a real chain, and from then on the fixed price below is used, so that a dev chain
# that stood idle for weeks still quotes. A real chain names real feeds, and a second source that may disagree by
# maxDeviationPercent at most instead of a fixed price. Written by \`make generate\`.
apiVersion: paymasters.dev/v1alpha1
kind: FeeToken
metadata:
  name: dev-${symbol.toLowerCase()}
spec:
  chainId: ${chainId}
  address: '${address}'
  symbol: ${symbol}
  decimals: ${decimals}
  price:
    combine:
      sources:
        - chainlink:
            nativeFeed: '${feeds.native}'
            tokenFeed: '${feeds.token}'
            maxAgeSeconds: 86400
            tokenMaxAgeSeconds: 86400
        - static: { rate: '${devDollarsPerEther * 10n ** BigInt(decimals)}', usdPerNative: '${devDollarsPerEther}' }
  premiumPercentage: '10'
`;
}

function renderContract({ sponsoredContract }: DevDeployments): string {
  const { address, method, abi } = sponsoredContract;
  return `# The contract whose methods are sponsored. Written by \`make generate\`.
apiVersion: paymasters.dev/v1alpha1
kind: SmartContract
metadata:
  name: shop-counter
  namespace: quickstart
spec:
  paymasterRef: { name: shop }
  name: counter
  address: '${address}'
  abi: '${abi}'
  whitelistedMethods: [${method.replace('()', '')}]
`;
}

/** The endpoints below a prefix as a table of a document. */
function endpointTable(prefix: string, endpoints: readonly Endpoint[]): string {
  const forms = { table: 'JSON or CSV', lines: 'JSON, or a line each second' };
  const rows = endpoints.map((each) => [
    `\`${each.method.toUpperCase()} ${prefix}${each.path.replace(/:(\w+)/g, '{$1}')}\``,
    each.summary,
    takers(each),
    Object.keys(each.parameters ?? {}).join(', ') || '–',
    each.form === undefined ? 'JSON' : forms[each.form],
  ]);
  return renderTable(['endpoint', 'what it does', 'token', 'parameters', 'answer'], rows);
}

function takers({ message, scope, needs = [] }: Endpoint): string {
  if (message !== undefined) return scope === 'paymaster' ? 'authToken and apiKey' : 'authToken';
  return scope === 'platform' ? 'of the platform' : [...new Set([...needs, 'write'])].join(', ');
}
