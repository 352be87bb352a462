/** Text of a kubeconfig with one user, who has a bearer token. */
export function kubeconfigText(user: {
  readonly server: string;
  /** PEM of the server's certificate. */
  readonly ca: string;
  readonly token: string;
}): string {
  const data = Buffer.from(user.ca).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: user.server, 'certificate-authority-data': data } }],
    users: [{ name: 'test', user: { token: user.token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}
