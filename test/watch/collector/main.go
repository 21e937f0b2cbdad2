// A collector of OpenTelemetry with what the tests need: OTLP in, OTLP in JSON out.
package main

import (
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	factories := func() (otelcol.Factories, error) {
		receiverFactory, exporterFactory := otlpreceiver.NewFactory(), otlphttpexporter.NewFactory()
		return otelcol.Factories{
			Receivers: map[component.Type]receiver.Factory{receiverFactory.Type(): receiverFactory},
			Exporters: map[component.Type]exporter.Factory{exporterFactory.Type(): exporterFactory},
			Telemetry: otelconftelemetry.NewFactory(),
		}, nil
	}
	settings := otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			DefaultScheme:     "file",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
