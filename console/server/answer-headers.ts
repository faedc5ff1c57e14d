/** The id of a request as the server has recorded it; a proxy may have replaced the id that the page has sent. */
export const requestIdIn = (answer: Response, sent = ''): string => answer.headers.get('flightlog-request-id') ?? sent;
