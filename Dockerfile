# docker build --tag shoal .
# docker run --rm --volume "$PWD:/models" shoal check german.m
FROM rust:1.95-slim-bookworm AS build
COPY . /shoal
RUN cargo install --locked --path /shoal/crates/cli --root /usr/local

FROM debian:bookworm-slim
# For the readable log of a pipeline.
RUN apt-get update && apt-get install --yes --no-install-recommends python3-minimal && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/shoal /usr/local/bin/shoal
COPY pipelines/check.sh /usr/local/bin/shoal-pipeline
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/shoal/
WORKDIR /models
ENTRYPOINT ["shoal"]
