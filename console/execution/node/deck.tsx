import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { ArtifactType, DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { FoldedCard } from '../../look/folded-card.js';
import { QueryResult } from '../../look/query-result.js';
import { rpcQuery } from '../../server/queries.js';
import { LinkOut } from '../../values/link-out.js';

type NodeProps = { readonly id: NonNullable<NodeExecution['id']> };

/** The policy of this page lets it show frames of its own server alone. */
const isOfThisServer = (address: string): boolean =>
  URL.canParse(address) && new URL(address).origin === window.location.origin;

/**
 * A link to the deck and, where this server serves it, the deck in a frame without an origin: tasks write it, so its
 * scripts must not reach this page or the server.
 */
const Shown = ({ id }: NodeProps): ReactNode => {
  const link = useQuery({
    ...rpcQuery(DataProxyService.method.createDownloadLink, {
      artifactType: ArtifactType.DECK,
      source: { case: 'nodeExecutionId', value: id },
    }),
    staleTime: Infinity,
    meta: { fixed: true }, // a new link would load the deck again
  });
  return (
    <QueryResult query={link}>
      {({ preSignedUrls }) => {
        const address = preSignedUrls?.signedUrl[0] ?? '';
        return (
          <>
            <p className="card-body">
              <LinkOut address={address} text="Open the deck in a tab" />
            </p>
            {isOfThisServer(address) && (
              <iframe className="deck" title={`Deck of ${id.nodeId}`} src={address} sandbox="allow-scripts" />
            )}
          </>
        );
      }}
    </QueryResult>
  );
};

type DeckProps = { readonly node: NodeExecution };

/** The deck (report) that the task of a node has written; nothing where there is none. */
export const Deck = ({ node: { id, closure } }: DeckProps): ReactNode => {
  if (!id || !closure || closure.deckUri === '') return null;
  return (
    <FoldedCard title="Deck">
      <Shown id={id} />
    </FoldedCard>
  );
};
