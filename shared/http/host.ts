/** The host in a URL or a Host header, without the brackets of an IPv6 address. */
export const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');
