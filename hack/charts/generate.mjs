// Writes what is made from crds/ and the charts: the templates of charts/paymaster-crds, install.yaml for people
// without helm, the renders that test/charts compares with, and the ConfigMap patch with Argo CD's health script.
// With `--check` it writes nothing and fails when a file is not current.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const templates = join(root, 'charts/paymaster-crds/templates');
const isCheck = process.argv.includes('--check');
const stale = [];

const definitions = readdirSync(join(root, 'crds'))
  .filter((name) => name.endsWith('.yaml'))
  .sort();
for (const name of definitions) bring(join(templates, name), template(definition(name)));
for (const name of readdirSync(templates))
  if (!definitions.includes(name)) {
    stale.push(`charts/paymaster-crds/templates/${name}`);
    if (!isCheck) rmSync(join(templates, name));
  }

bring(join(root, 'hack/argocd/argocd-cm.yaml'), argocdPatch());

const helm = findHelm();
if (helm === undefined)
  console.error(`charts: renders were not ${isCheck ? 'checked' : 'written'}, because helm could not be built (see above)`);
else {
  bring(join(root, 'charts/install.yaml'), installation(helm));
  const cases = join(root, 'test/charts/values');
  for (const name of readdirSync(cases))
    bring(join(root, 'test/charts/golden', name), render(helm, 'gas', 'gas-system', [`--values=${join(cases, name)}`]));
}

if (isCheck && stale.length > 0) {
  console.error(`not up to date: ${stale.join(', ')}: run "make generate" and commit the result`);
  process.exitCode = 1;
} else if (!isCheck) console.log(stale.length === 0 ? 'charts are up to date' : `wrote ${stale.join(', ')}`);

function bring(path, text) {
  if (read(path) === text) return;
  stale.push(path.slice(root.length + 1));
  if (!isCheck) writeFileSync(path, text);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function definition(name) {
  return readFileSync(join(root, 'crds', name), 'utf8').replace(/^#.*\n/, '');
}

/** Uninstalling the release must not delete the definition: with it every resource of every user would go. */
function template(text) {
  const annotations = '  {{- if .Values.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n';
  const escaped = text.replaceAll('{{', "{{ '{{' }}");
  return `# Generated from crds/. Do not edit: run \`make generate\`.\n${escaped.replace('metadata:\n', `metadata:\n${annotations}`)}`;
}

function argocdPatch() {
  const script = readFileSync(join(root, 'hack/argocd/health.lua'), 'utf8');
  const name = 'resource.customizations.health.paymasters.dev';
  const kinds = ['Chain', 'FeeToken', 'Organisation', 'Paymaster', 'PaymasterPolicy', 'SmartContract'];
  const entry = (kind) => `  ${name}_${kind}: |\n${script.replaceAll(/^(?=.)/gm, '    ')}`;
  return `# Tells Argo CD how to judge our resources. Generated from health.lua: run \`make generate\`.
#
#   kubectl -n argocd patch configmap argocd-cm --patch-file hack/argocd/argocd-cm.yaml
data:
${kinds.map(entry).join('')}`;
}

function installation(binary) {
  const namespace = 'paymaster-system';
  const rendered = render(binary, 'paymaster', namespace, ['--skip-tests', '--set=postgres.bundled.enabled=true,postgres.bundled.passwordSecret=paymaster-postgres,networkPolicy.apiServer.anywhere=true']);
  return `# Everything for a trial without helm, with its own PostgreSQL. Generated from the charts: run \`make generate\`.
#
#   kubectl apply --server-side -f charts/install.yaml
#   kubectl -n ${namespace} create secret generic paymaster-master-keys \\
#     --from-literal=master.key=$(openssl rand -hex 32) --from-literal=webhook-master.key=$(openssl rand -hex 32) \\
#     --from-literal=session.key=$(openssl rand -hex 32)
#   kubectl -n ${namespace} create secret generic paymaster-postgres --from-literal=password=$(openssl rand -hex 32)
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
${definitions.map((name) => `---\n${definition(name)}`).join('')}${rendered}`;
}

function render(binary, release, namespace, options) {
  return execFileSync(
    binary,
    ['template', release, join(root, 'charts/paymaster-operator'), `--namespace=${namespace}`, ...options],
    { encoding: 'utf8', maxBuffer: 32 * 1024 * 1024 },
  );
}

function findHelm() {
  try {
    return execFileSync('sh', [join(root, 'hack/helm/build.sh')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
  } catch {
    return undefined;
  }
}
