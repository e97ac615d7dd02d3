# The image: one static binary, the licence, and the notices of what is in it. No shell, no files of a system.
#
#   docker build -t bindery:dev .                      the binary is built in a stage
#   docker build -t bindery:dev --target outside .     dist/ is taken, which `make dist` has built
#
# `make image` does the latter with docker, podman or buildah, and checks what came out; scripts/image/check.sh checks
# what another build wrote to an archive. No variable picks the stage, as builders lose sight of what a stage needs
# whose name they have to work out: the first and the last stage say the same, which `make suites` sees to.

FROM scratch AS outside
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="bindery" \
      org.opencontainers.image.description="Stops Kubernetes changes that would lose or mis-bind persistent storage, and explains why a PersistentVolumeClaim is Pending" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY dist/LICENSE dist/NOTICES /licenses/
COPY dist/bindery /bindery
# A number: what checks that nobody runs as root cannot look names up.
USER 65532:65532
ENTRYPOINT ["/bindery"]

FROM rust:1.95-bookworm AS builder
WORKDIR /src
COPY . .
ARG SOURCE_DATE_EPOCH=0
RUN make dist

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="bindery" \
      org.opencontainers.image.description="Stops Kubernetes changes that would lose or mis-bind persistent storage, and explains why a PersistentVolumeClaim is Pending" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=builder /src/dist/LICENSE /src/dist/NOTICES /licenses/
COPY --from=builder /src/dist/bindery /bindery
# A number: what checks that nobody runs as root cannot look names up.
USER 65532:65532
ENTRYPOINT ["/bindery"]
